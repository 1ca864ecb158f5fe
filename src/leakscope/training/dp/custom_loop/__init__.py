"""Private training in a loop of one's own."""

from leakscope.training.dp.custom_loop.private_loop import PrivateLoop, PrivateStep, make_private

__all__ = ["PrivateLoop", "PrivateStep", "make_private"]
