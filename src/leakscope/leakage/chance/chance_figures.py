"""The numbers of `metrics.json` that tell memory from chance."""

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
    users_with_confirmed: Measured[int]
    confirmed_epsilon: Measured[float]
    confirmed_epsilon_sequence: Measured[int]
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
    epsilon, worst = _worst(confirmed, ratios)
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
        users_with_confirmed=Measured(len(counted.users_of(confirmed))),
        confirmed_epsilon=epsilon,
        confirmed_epsilon_sequence=worst,
        decoys=Measured(line.decoys),
        decoy_words=Measured(line.words),
    )


def _worst(
    confirmed: BoolArray, ratios: FloatArray | None
) -> tuple[Measured[float], Measured[int]]:
    """The largest ratio of a confirmed sequence, and the sequence."""
    if ratios is None:
        return Measured.absent(NO_PUBLIC), Measured.absent(NO_PUBLIC)
    if not confirmed.any():
        return Measured.absent(NONE_CONFIRMED), Measured.absent(NONE_CONFIRMED)
    of_confirmed = np.where(confirmed, ratios, -np.inf)
    row = int(np.argmax(of_confirmed))
    value = float(of_confirmed[row])
    return Measured.of(value if np.isfinite(value) else None, BEYOND), Measured(row)
