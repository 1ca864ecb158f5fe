"""Clipped sums of users' gradients, the core of user-level differentially private training."""

from leakscope.training.clipping.clipper import METHODS, Clipped, Clipper, Method

__all__ = ["METHODS", "Clipped", "Clipper", "Method"]
