"""What an update of a model gives away (Zanella-Béguelin et al. 2020)."""
