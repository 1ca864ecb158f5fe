"""Clipped sums of users' gradients, the core of user-level differentially private training."""
