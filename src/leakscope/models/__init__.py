"""Language models that answer in words."""
