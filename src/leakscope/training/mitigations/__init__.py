"""Ways to train: plain, or with a mitigation."""
