"""Schedules: factors on a setting of a private training, each from some step on.

"500:0.8,1000:0.64" leaves the setting as it is for 500 steps, takes 0.8 times its value for the
next 500 and 0.64 times its value from then on. A factor also works where the noise is calibrated.
"""

import math
from functools import lru_cache
from itertools import pairwise

from leakscope.records.errors import LeakscopeError

Factors = tuple[tuple[int, float], ...]
"""The steps taken before each factor holds, increasing, and the factors."""


@lru_cache(maxsize=32)
def factors_of(schedule: str | None, name: str = "schedule") -> Factors:
    """A schedule as it is written; none: no factors. `name`: the setting, for the error."""
    if schedule is None:
        return ()
    try:
        pairs = [part.split(":") for part in schedule.split(",")]
        found = tuple((int(step), float(factor)) for step, factor in pairs)
    except ValueError:
        found = ()
    positive = all(step >= 1 and 0 < factor < math.inf for step, factor in found)
    if not (found and positive and all(one[0] < two[0] for one, two in pairwise(found))):
        raise LeakscopeError(
            f"The {name} is written as increasing steps with positive factors, such as "
            f"500:0.8,1000:0.64."
        )
    return found


def factor_at(schedule: str | None, step: int) -> float:
    """What the setting is multiplied with in step number `step`, from 0."""
    return next((factor for first, factor in reversed(factors_of(schedule)) if step >= first), 1.0)
