"""The sequence that sets the leakage epsilon of a run."""

from pathlib import Path

from leakscope.records.runs.run_metrics import Metrics
from leakscope.reporting.facts import values
from leakscope.reporting.rows.listing import SequenceRow, sequence_of


def worst_of(run: Path, metrics: Metrics, *, revealed: bool) -> SequenceRow | None:
    """None if there is none, or the table does not list it."""
    if metrics.leakage_epsilon_sequence is None:
        return None
    return sequence_of(run, metrics.leakage_epsilon_sequence, revealed=revealed)


def spelled(row: SequenceRow | None) -> str | None:
    """Its first words; None where they are withheld."""
    if row is None or row.words is None:
        return None
    more = " …" if row.length > len(row.words) else ""
    return values.printable(" ".join(row.words)) + more
