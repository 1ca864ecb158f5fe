"""What is known of models: their configs, their mitigations, and who judged whom."""
