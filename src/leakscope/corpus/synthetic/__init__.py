"""A synthetic corpus whose secrets are known."""
