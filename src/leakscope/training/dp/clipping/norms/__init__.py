"""Norms of users' gradients, layer by layer, without the gradients themselves."""
