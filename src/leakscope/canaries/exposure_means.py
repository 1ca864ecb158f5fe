"""Mean exposures of the canaries that were repeated equally often."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from leakscope.canaries.canary_settings import ExposureSettings
from leakscope.canaries.exposure import mean_with_interval
from leakscope.records.canaries.exposure_record import CanaryExposure, RepetitionExposure


def exposure_by_repetitions(
    canaries: Sequence[CanaryExposure], how: ExposureSettings, rng: np.random.Generator
) -> list[RepetitionExposure]:
    """The mean exposure by state, class and repetitions; real canaries have none."""
    groups: dict[tuple[str, str, int], list[CanaryExposure]] = defaultdict(list)
    for each in canaries:
        if each.state != "real":
            groups[each.state, each.frequency or "", each.repetitions].append(each)
    found = []
    for (state, frequency, repetitions), members in sorted(groups.items()):
        values = np.array([each.exposure for each in members if each.exposure is not None])
        mean, low, high = None, None, None
        if len(values):
            mean, low, high = mean_with_interval(values, how.bootstrap, rng)
        sampled = any(each.censored is not None for each in members)
        censored = sum(bool(each.censored) and each.method == "samples" for each in members)
        found.append(
            RepetitionExposure(
                state=state,
                frequency=frequency,
                repetitions=repetitions,
                canaries=len(members),
                measured=len(values),
                mean=mean,
                low=low,
                high=high,
                censored=censored if len(values) else None,
                beyond_samples=sum(bool(each.censored) for each in members) if sampled else None,
            )
        )
    return found
