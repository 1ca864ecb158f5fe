"""leakscope: measure, per user, what a language model gives away of its training data."""
