"""What the compiled kernels share."""

import numba
import torch

KINDS = {torch.float32, torch.float64}
"""What they work on, in the processor's memory."""

LOOSE = {"reassoc", "contract"}
"""Sums may be made in any order and products be fused with them, which fills the processor's
registers; but what is no number stays none.
"""


@numba.njit(cache=True, nogil=True, fastmath=LOOSE)
def dot(a, b):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """The sum of the products of two rows."""
    total = a.dtype.type(0)
    for k in range(len(a)):
        total += a[k] * b[k]
    return total
