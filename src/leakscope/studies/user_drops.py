"""Disparate impact as the tables of a study have it."""

import math
from typing import Any

import numpy as np

from leakscope.records.studies.study_record import StudyImpact
from leakscope.reporting.comparison.disparate_impact import Impact


def user_drops(
    found: Impact, size: int, more: dict[str, Any]
) -> tuple[list[StudyImpact], dict[str, float | None]]:
    """A row for each user, with the columns `more`; and the mean drops of groups of `size` users,
    with the gap between them.
    """
    rows = []
    for place in range(len(found.users)):
        drop = found.over(np.array([place]))
        rows.append(
            StudyImpact(
                user=int(found.users[place]),
                documents=int(found.documents[place]),
                drop=_number(drop.value),
                low=_number(drop.low),
                high=_number(drop.high),
                **more,
            )
        )
    most, fewest = found.groups(size)
    figures = {
        "most_drop": _number(found.over(most).value),
        "fewest_drop": _number(found.over(fewest).value),
        "gap": _number(found.gap(size).value),
    }
    return rows, figures


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
