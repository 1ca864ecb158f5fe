"""A new corpus without duplicates, personal data or rare words."""
