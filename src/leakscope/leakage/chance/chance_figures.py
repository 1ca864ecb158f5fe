"""The numbers of `metrics.json` that tell memory from chance."""

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from leakscope.leakage.chance.chance_line import ChanceLine
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.records.documents import BoolArray, FloatArray
from leakscope.records.measured import Measured
from leakscope.records.runs.run_metrics import ChanceSource

NO_PUBLIC = "no public model was given"
NONE_CONFIRMED = "no unique sequence is confirmed"
BEYOND = "the ratio is beyond any number"


@dataclass(frozen=True)
class ChanceFigures:
    """Under the names of `metrics.json`."""

    chance_unique: Measured[float]
    chance_unique_low: Measured[float]
    chance_unique_high: Measured[float]
    chance_by_length: Measured[dict[int, float]]
    chance_source: Measured[ChanceSource]
    excess_unique: Measured[float]
    excess_unique_low: Measured[float]
    excess_unique_high: Measured[float]
    confirmed_unique: Measured[int]
    least_confirmable: Measured[int]
    judged_together: Measured[int]
    unjudged_unique: Measured[int]
    chance_maybe_memory: Measured[float]
    users_with_confirmed: Measured[int]
    confirmed_epsilon: Measured[float]
    confirmed_epsilon_nats: Measured[float]
    confirmed_epsilon_sequence: Measured[int]
    confirmed_epsilon_words: Measured[int]
    decoys: Measured[int]
    decoy_words: Measured[int]


def chance_figures(
    chance: Measured[ChanceLine], counted: CountedSequences, ratios: FloatArray | None
) -> ChanceFigures:
    """All of them, or why they are absent; `ratios` [s] to the public model, if there is one."""
    line = chance.value
    if line is None:
        why: Measured[Any] = Measured(None, chance.reason)
        return ChanceFigures(**{field.name: why for field in fields(ChanceFigures)})
    confirmed = line.confirmed
    worst = _worst(confirmed, ratios)
    epsilon = _ratio_of(worst, ratios)
    return ChanceFigures(
        chance_unique=Measured(line.chance.value),
        chance_unique_low=Measured(line.chance.low),
        chance_unique_high=Measured(line.chance.high),
        chance_by_length=Measured(line.by_length),
        chance_source=Measured(line.source),
        excess_unique=Measured(line.excess.value),
        excess_unique_low=Measured(line.excess.low),
        excess_unique_high=Measured(line.excess.high),
        confirmed_unique=Measured(int(confirmed.sum())),
        least_confirmable=Measured(line.least_list),
        judged_together=Measured(line.lists[0]),
        unjudged_unique=Measured(line.unjudged),
        chance_maybe_memory=Measured(line.maybe_memory),
        users_with_confirmed=Measured(len(counted.users_of(confirmed))),
        confirmed_epsilon=epsilon,
        confirmed_epsilon_nats=_nats(epsilon),
        confirmed_epsilon_sequence=worst,
        confirmed_epsilon_words=_words(worst, counted),
        decoys=Measured(line.decoys),
        decoy_words=Measured(line.words),
    )


def _worst(confirmed: BoolArray, ratios: FloatArray | None) -> Measured[int]:
    """The confirmed sequence with the largest ratio."""
    if ratios is None:
        return Measured.absent(NO_PUBLIC)
    if not confirmed.any():
        return Measured.absent(NONE_CONFIRMED)
    return Measured(int(np.argmax(np.where(confirmed, ratios, -np.inf))))


def _ratio_of(row: Measured[int], ratios: FloatArray | None) -> Measured[float]:
    if row.value is None or ratios is None:
        return Measured(None, row.reason)
    value = float(ratios[row.value])
    return Measured.of(value if np.isfinite(value) else None, BEYOND)


def _nats(epsilon: Measured[float]) -> Measured[float]:
    if epsilon.value is None:
        return epsilon
    return Measured.of(math.log(epsilon.value) if epsilon.value > 0 else None, BEYOND)


def _words(row: Measured[int], counted: CountedSequences) -> Measured[int]:
    return row if row.value is None else Measured(int(counted.sequences.lengths[row.value]))
