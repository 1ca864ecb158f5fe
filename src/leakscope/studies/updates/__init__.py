"""What updates of models give away, under the conditions of Zanella-Béguelin et al. (2020)."""
