"""Clipped sums of users' gradients, the core of user-level differentially private training."""

from leakscope.training.dp.clipping.clipper import Clipped, Clipper
from leakscope.training.dp.clipping.factors import METHODS, Method, Weighting
from leakscope.training.dp.clipping.modules import LossOf, ModuleClipper, TokenRows, next_token_loss

__all__ = [
    "METHODS",
    "Clipped",
    "Clipper",
    "LossOf",
    "Method",
    "ModuleClipper",
    "TokenRows",
    "Weighting",
    "next_token_loss",
]
