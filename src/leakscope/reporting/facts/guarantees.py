"""The guarantees of several models side by side, in the rows of a comparison."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leakscope.records.models.dp_record import PrivacyRecord
from leakscope.reporting.facts import values
from leakscope.reporting.facts.guarantee import INSECURE, Guarantee, steps
from leakscope.reporting.facts.recomputed_epsilon import CONTRADICTION

EPSILON = {"dp_epsilon": "DP epsilon"}
COLUMNS = EPSILON | {"dp_delta": "DP delta", "dp_unit": "DP unit"}
"""Shown where at least one of the models was trained with differential privacy."""
DETAILS = (
    "Accountant", "Units", "Noise multiplier", "Clip", "Sampling rate", "Steps",
    "Gaussian-DP value (an approximation that tends to under-report)",
)  # fmt: skip
"""The columns of `detailed` after the model's name."""


def entries(guarantee: Guarantee) -> dict[str, Any]:
    """What a row of a comparison says of differential privacy; null has its reason elsewhere."""
    record = guarantee.record
    return {
        "dp_epsilon": guarantee.epsilon,
        "dp_delta": None if record is None else record.delta,
        "dp_unit": None if record is None else record.unit,
        "dp_relation": None if record is None else record.relation,
        "privacy": None if record is None else record.model_dump(mode="json"),
    }


def cell(row: Mapping[str, Any], column: str) -> str:
    """A value of `COLUMNS` as the table shows it; void ones are marked in the cell itself."""
    value = row[column]
    if value is None:
        return values.ABSENT
    if column == "dp_unit":
        return f"{value}, replaced" if row["dp_relation"] == "replace-one" else str(value)
    void = column == "dp_epsilon" and row["privacy"]["insecure_seed"]
    return values.bound(value) + (" (insecure)" if void else "")


def cautions(labelled: Sequence[tuple[str, Guarantee]]) -> list[str]:
    """What to bear in mind before DP epsilons are compared, a sentence each."""
    insecure = [label for label, guarantee in labelled if guarantee.insecure]
    problems = _untrusted(labelled)
    problems += [f"{', '.join(insecure)}: {INSECURE}."] if insecure else []
    doubtful = [label for label, guarantee in labelled if guarantee.doubts]
    if doubtful:
        problems.append(
            f"{', '.join(doubtful)}: the DP epsilon guarantees nothing, because delta is too large "
            "or the units are too few; the report on the model says which."
        )
    bounded = [g.record for _, g in labelled if g.record is not None and g.epsilon is not None]
    if len({record.unit for record in bounded}) > 1:
        problems.append(
            "The DP epsilons are for different units, user and document, so they cannot be "
            "compared; train all models with one --unit."
        )
    elif len({record.relation for record in bounded}) > 1:
        problems.append(
            "Some DP epsilons are for one unit more or less, others for one replaced by another, "
            "so they cannot be compared; train all models with one --relation."
        )
    elif len({record.delta for record in bounded}) > 1:
        problems.append(
            "The DP epsilons are at different deltas, so they cannot be compared; train all models "
            "with one --delta."
        )
    return problems


def _untrusted(labelled: Sequence[tuple[str, Guarantee]]) -> list[str]:
    """Whose epsilons their own steps do not bear out, or could not be recomputed."""
    damaged = [label for label, guarantee in labelled if guarantee.damaged]
    found = [f"{', '.join(damaged)}: {CONTRADICTION}; no DP epsilon is shown."] if damaged else []
    whys = {guarantee.unchecked for _, guarantee in labelled if guarantee.unchecked is not None}
    for why in sorted(whys):
        labels = [label for label, guarantee in labelled if guarantee.unchecked == why]
        found.append(f"{', '.join(labels)}: {why}.")
    return found


def detailed(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Name and `DETAILS` of every model that was trained with differential privacy."""
    return [
        (
            name,
            [
                values.printable(record.accountant),
                f"{values.thousands(record.units)} {record.unit}s",
                f"{record.noise_multiplier:.4g}",
                f"{record.clip:.4g}",
                f"{record.rate:.4g}",
                steps(record),
                values.ABSENT
                if record.gaussian is None
                else values.rounded(record.gaussian.epsilon),
            ],
        )
        for name, record in _records(rows)
    ]


def accountants(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The accountants behind the DP epsilons, with the models where they differ."""
    return _shared(rows, lambda record: [record.accountant])


def caveats(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the guarantees do not cover, the gravest first, with the models where not all have that
    caveat.
    """
    return _shared(rows, lambda record: record.caveats)


def _shared(
    rows: Sequence[Mapping[str, Any]], told: Callable[[PrivacyRecord], list[str]]
) -> list[str]:
    records = _records(rows)
    found: dict[str, list[str]] = {}
    weights: dict[str, int] = {}
    for name, record in records:
        # Every model's list ends with what all have, so the distance from its end tells the grave.
        for weight, text in enumerate(reversed(dict.fromkeys(told(record)))):
            found.setdefault(text, []).append(name)
            weights[text] = max(weight, weights.get(text, 0))
    return [
        text if len(found[text]) == len(records) else f"{text} ({', '.join(found[text])})"
        for text in sorted(found, key=lambda text: -weights[text])
    ]


def _records(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, PrivacyRecord]]:
    return [
        (row["name"], PrivacyRecord.model_validate(row["privacy"]))
        for row in rows
        if row["privacy"] is not None
    ]
