"""The table of a comparison: Table 2 of Inan et al. (2021) and some columns more."""

from collections.abc import Mapping, Sequence
from typing import Any

from leakscope.records.models.audited_model import mitigation_of
from leakscope.reporting.comparison.compared_runs import ComparedRun
from leakscope.reporting.facts import guarantees, values
from leakscope.reporting.facts.chance_facts import set_by
from leakscope.reporting.facts.guarantee import UNKNOWN
from leakscope.reporting.rows.worst_sequence import named_in
from leakscope.storage.remote_address import spelled

COLUMNS = {
    "validation_perplexity": "Val. perplexity",
    "validation_accuracy": "Val. accuracy (%)",
    "unique_sequences": "Unique sequences in S",
    "leakage_epsilon": "Leakage epsilon",
    "occurrences": "Runs in S",
    "users_with_unique": "Users with unique",
    "longest_unique": "Longest unique",
}
"""The table's columns after the model's name; the first four are the paper's."""
MITIGATION = {"mitigation": "Mitigation"}
"""Shown where a run's model has a mitigation without columns of its own."""
BENCHMARK = {"public_unique_sequences": "Public model's own unique"}
"""The paper's benchmark line, shown where a run measured it."""


CHANCE = {"chance_unique": "By chance", "confirmed_unique": "Confirmed"}
"""Shown where a run measured it."""
CONFIRMED_EPSILON = {"confirmed_epsilon": "Confirmed epsilon"}
INTERFACE = {"interface": "Through an interface that"}
"""Shown where something stands before a run's model."""
SET_BY_A_SEQUENCE = ("leakage_epsilon", "confirmed_epsilon")
UNEXPLAINED = ("dp_delta", "dp_unit", "interface")
"""Columns whose dashes need no reason: the epsilon's is theirs, or nothing is missing."""


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The columns worth showing for some runs."""
    private = any(row["privacy"] is not None for row in rows)
    other = any(row["mitigation"] not in (None, "none") and not row["privacy"] for row in rows)
    shown = COLUMNS | (MITIGATION if other else {}) | (guarantees.COLUMNS if private else {})
    for columns in (BENCHMARK, CHANCE, CONFIRMED_EPSILON, INTERFACE):
        if any(row[name] is not None for row in rows for name in columns):
            shown |= columns
    return shown


def compare_rows(runs: Sequence[ComparedRun]) -> list[dict[str, Any]]:
    """One plain row a run, ready for JSON: its metrics, its name, and where it stands in training.

    `validation_accuracy` is the share at the run's own top k; null has its reason in `reasons`.
    `..._spelled` has the first words of the sequence that sets an epsilon, if the run is revealed.
    """
    rows = []
    for run in runs:
        accuracy = values.accuracy(run.metrics)
        reasons = dict(run.metrics.reasons)
        if accuracy.reason is not None:
            reasons["validation_accuracy"] = accuracy.reason
        guarantee = run.guarantee
        if guarantee.reason is not None:
            reasons["dp_epsilon"] = guarantee.reason
        mitigation = guarantee.record or mitigation_of(run.manifest.model)
        if mitigation is None:
            reasons["mitigation"] = guarantee.reason or UNKNOWN
        plain = run.metrics.model_dump(mode="json")
        named = named_in(run.path, run.manifest, run.metrics)
        rows.append(
            {
                "name": run.label,
                "run": spelled(run.path),
                "epoch": run.epoch,
                "step": run.step,
                "corpus_digest": run.manifest.corpus_digest,
                "model_digest": run.manifest.model_digest,
                **plain,
                **{f"{e}_spelled": named.get(plain[f"{e}_sequence"]) for e in SET_BY_A_SEQUENCE},
                **guarantees.entries(guarantee),
                "mitigation": None if mitigation is None else mitigation.summary(),
                "validation_accuracy": accuracy.value,
                "reasons": reasons,
            }
        )
    return rows


def tells_words(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether training text is in some rows."""
    return any(row[f"{name}_spelled"] is not None for row in rows for name in SET_BY_A_SEQUENCE)


def cell(row: Mapping[str, Any], column: str) -> str:
    """A number of `compare_rows` as the table shows it; a dash if it is null."""
    value = row[column]
    if column in guarantees.COLUMNS:
        return guarantees.cell(row, column)
    if value is None:
        return values.ABSENT
    if isinstance(value, str):
        return values.printable(value)
    if column == "validation_accuracy":
        return f"{100 * value:.2f}"
    shown = values.thousands(value) if isinstance(value, int) else values.rounded(value)
    sequence, words = row.get(f"{column}_sequence"), row.get(f"{column}_spelled")
    named = {} if sequence is None or words is None else {sequence: words}
    by = set_by(sequence, row.get(f"{column}_words"), named)
    return f"{shown} ({by[0]})" if by else shown


def missing(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Why there are dashes in the table: a line for each column and reason, with the runs. That
    there is no differential privacy is told even where no run has any, and so no column.
    """
    found: dict[tuple[str, str], list[str]] = {}
    columns = columns_of(rows) | guarantees.EPSILON
    for column in columns:
        for row in rows:
            if row[column] is None and column not in UNEXPLAINED:
                why = row["reasons"].get(column, values.UNEXPLAINED)
                found.setdefault((column, why), []).append(row["name"])
    return [
        f"{columns[column]}: {why}" + ("" if len(of) == len(rows) else f" ({', '.join(of)})")
        for (column, why), of in found.items()
    ]
