"""The results of a study over its seeds: one row for each training and target, and one for each
number of repetitions.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from leakscope.canaries.exposure import mean_with_interval
from leakscope.records.studies.study_record import (
    StudyAttack,
    StudyExposure,
    StudyRepetition,
    StudyResult,
    StudyRow,
)
from leakscope.studies.mitigation_study import StudyTables

RESAMPLES = 1000
_MEANS = (
    "perplexity", "epochs", "unique_sequences", "most_drop", "fewest_drop", "gap",
)  # fmt: skip


def summary_rows(tables: StudyTables) -> list[StudyRow]:
    """In the order in which trainings and targets came."""
    groups: dict[tuple[float, str], list[StudyResult]] = {}
    for each in tables.results:
        groups.setdefault((each.target, each.training), []).append(each)
    ordered = sorted(groups.items(), key=lambda pair: -pair[0][0])
    return [_row(group, tables) for _, group in ordered]


def repetition_rows(tables: StudyTables) -> list[StudyRepetition]:
    """Of planted canaries only."""
    exposed: dict[tuple[str, float, int], list[StudyExposure]] = {}
    attacked: dict[tuple[str, float, int], list[StudyAttack]] = {}
    for each in tables.exposure:
        if each.state == "planted":
            key = (each.training, each.target, each.repetitions)
            exposed.setdefault(key, []).append(each)
    for one in tables.attack:
        if one.state == "planted":
            key = (one.training, one.target, one.repetitions)
            attacked.setdefault(key, []).append(one)
    found = []
    for (training, target, repetitions), canaries in exposed.items():
        mine = attacked.get((training, target, repetitions), [])
        outcomes = [each.greedy for each in mine if each.greedy is not None]
        found.append(
            StudyRepetition(
                training=training,
                target=target,
                repetitions=repetitions,
                measured=sum(each.exposure is not None for each in canaries),
                attacked=len(outcomes),
                **_mean("exposure", canaries),
                **_rate("rate", sum(outcomes), len(outcomes), ""),
            )
        )
    return sorted(found, key=lambda each: (-each.target, each.repetitions))


def _row(group: list[StudyResult], tables: StudyTables) -> StudyRow:
    first, reached = group[0], [each for each in group if each.perplexity is not None]
    exposed = [
        each
        for each in tables.exposure
        if (each.training, each.target, each.state) == (first.training, first.target, "planted")
    ]
    values: dict[str, Any] = {name: _average(reached, name) for name in _MEANS}
    for name in ("synthetic", "real"):
        done = sum(getattr(each, f"{name}_attacked") or 0 for each in reached)
        got = sum(getattr(each, f"{name}_reconstructed") or 0 for each in reached)
        values |= _rate(name, got, done, "_rate")
    epsilons = [each.epsilon for each in reached]
    known = [epsilon for epsilon in epsilons if epsilon is not None]
    reasons = dict.fromkeys(each.reason for each in group if each.reason is not None)
    return StudyRow(
        training=first.training,
        mitigation=first.mitigation,
        target=first.target,
        seeds=len(group),
        reached=len(reached),
        best_perplexity=min(each.best_perplexity for each in group),
        seconds_per_epoch=float(np.mean([each.seconds_per_epoch for each in group])),
        relative_cost=float(np.mean([each.relative_cost for each in group])),
        epsilon=max(known) if known and len(known) == len(epsilons) else None,
        reason="; ".join(reasons) or None,
        **_mean("exposure", exposed),
        **values,
    )


def _average(results: Iterable[StudyResult], name: str) -> float | None:
    """The mean of a figure where all have it; null where one has not."""
    values = [getattr(each, name) for each in results]
    return float(np.mean(values)) if values and None not in values else None


def _mean(name: str, canaries: Sequence[StudyExposure]) -> dict[str, float | None]:
    bits = np.array([each.exposure for each in canaries if each.exposure is not None])
    if not len(bits):
        return {name: None}
    mean, low, high = mean_with_interval(bits, RESAMPLES, np.random.default_rng(0))
    return {name: mean, f"{name}_low": low, f"{name}_high": high}


def _rate(name: str, reconstructed: int, attacked: int, ending: str) -> dict[str, float | None]:
    if not attacked:
        return {f"{name}{ending}": None}
    interval = stats.binomtest(reconstructed, attacked).proportion_ci(0.95, "exact")
    return {
        f"{name}{ending}": reconstructed / attacked,
        f"{name}_low": float(interval.low),
        f"{name}_high": float(interval.high),
    }
