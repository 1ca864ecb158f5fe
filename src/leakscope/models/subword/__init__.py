"""Sub-word models of Hugging Face, their tokens aligned with words."""
