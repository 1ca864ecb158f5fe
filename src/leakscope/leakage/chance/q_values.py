"""q-values: the least false discovery rate at which a target belongs to the list.

Targets are judged by decoys, which are false for sure, as in mass spectrometry (Elias and Gygi,
2007). Where decoys come from less text than targets, each stands for several false targets: its
weight. At any bar the list holds about as many false targets as the weights of the decoys above it
sum up to, and one decoy more than were seen, so that luck with few of them confirms nothing.

The order of targets and decoys must be fixed beforehand. If decoys also decide it, as in cutting
several classes where each has few decoys, the rate is not kept (docs/decisions).
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def q_values(targets: Floats, decoys: Floats, weights: Floats, more: float) -> Floats:
    """[n] of targets with these scores; at most 1, above 0. Greater scores are more extreme, and
    none has a greater q. `more` is the weight of the decoy that was not seen.
    """
    bars, place = np.unique(targets, return_inverse=True)
    above = len(targets) - np.searchsorted(np.sort(targets), bars)
    order = np.argsort(decoys, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(weights[order])])
    false = below[-1] - below[np.searchsorted(decoys[order], bars)]
    least = np.minimum.accumulate((false + more) / above)  # of all bars up to each
    found: Floats = np.minimum(least, 1.0)[place]
    return found


def least_list(more: float, rate: float) -> int:
    """How many targets, at least, a list at this rate has: with no decoy seen at all."""
    return int(np.ceil(more / rate - 1e-9))
