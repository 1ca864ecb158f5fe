"""The results of a study of updates over its seeds."""

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel

from leakscope.records.studies.update_study_record import (
    CanaryResult,
    UpdateCondition,
    UpdateFoundRow,
    UpdateResult,
    UpdateRow,
)

_CONDITION = tuple(UpdateCondition.model_fields)
_MEANS = tuple(
    name
    for name in UpdateFoundRow.model_fields
    if name not in _CONDITION and name in UpdateResult.model_fields
)


def canary_rows(results: Sequence[CanaryResult]) -> list[UpdateRow]:
    """One row for each condition and class of frequency."""
    groups = _grouped(results, (*_CONDITION, "known", "frequency"))
    return [
        UpdateRow(
            **named,
            **_scores([each for each in group if each.planted]),
            **_of_controls([each.score for each in group if not each.planted]),
        )
        for named, group in groups
    ]


def found_rows(results: Sequence[UpdateResult]) -> list[UpdateFoundRow]:
    """One row for each condition."""
    found = []
    for named, group in _grouped(results, _CONDITION):
        values: dict[str, Any] = {
            name: _mean([getattr(each, name) for each in group]) for name in _MEANS
        }
        found.append(UpdateFoundRow(**named, seeds=len(group), **values))
    return found


def _grouped(
    results: Iterable[BaseModel], names: tuple[str, ...]
) -> list[tuple[dict[str, Any], list[Any]]]:
    """The results that agree in some fields, in the order in which they came."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for each in results:
        found.setdefault(tuple(getattr(each, name) for name in names), []).append(each)
    return [(dict(zip(names, key, strict=True)), group) for key, group in found.items()]


def _scores(group: Sequence[CanaryResult]) -> dict[str, Any]:
    scores = [each.score for each in group if each.score is not None]
    relative = [each.relative_score for each in group if each.relative_score is not None]
    ranks = [each.rank for each in group if each.rank is not None]
    apart = [each.rank_apart for each in group if each.rank_apart is not None]
    return {
        "canaries": len(group),
        "measured": len(scores),
        "score": _mean(scores),
        "low": min(scores, default=None),
        "high": max(scores, default=None),
        "relative_score": _mean(relative),
        "rank": float(statistics.median(ranks)) if ranks else None,
        "rank_apart": float(statistics.median(apart)) if apart else None,
        "rank_zero": sum(rank == 0 for rank in apart),
        "exact": all(each.rank_method == "exact" for each in group if each.rank is not None),
    }


def _of_controls(scores: Sequence[float | None]) -> dict[str, Any]:
    known = [score for score in scores if score is not None]
    return {
        "controls": len(known),
        "control_score": _mean(known),
        "control_high": max(known, default=None),
    }


def _mean(values: Sequence[Any]) -> float | None:
    """Null where one is null, or there is none."""
    return float(statistics.fmean(values)) if values and None not in values else None
