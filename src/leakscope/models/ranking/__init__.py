"""The top k, computed only as far as a question needs."""
