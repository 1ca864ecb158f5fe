"""The sequences that set the leakage epsilon of a run and its confirmed epsilon."""

from pathlib import Path

from leakscope.records.runs.run_manifest import RunManifest
from leakscope.records.runs.run_metrics import Metrics
from leakscope.reporting.facts import values
from leakscope.reporting.rows.listing import SequenceRow, sequence_of


def worst_of(run: Path, metrics: Metrics, *, revealed: bool) -> SequenceRow | None:
    """None if there is none, or the table does not list it."""
    if metrics.leakage_epsilon_sequence is None:
        return None
    return sequence_of(run, metrics.leakage_epsilon_sequence, revealed=revealed)


def named_in(run: Path, manifest: RunManifest, metrics: Metrics) -> dict[int, str]:
    """The first words of both, by their ids; nothing where they are withheld."""
    found: dict[int, str] = {}
    if not manifest.revealed:
        return found
    for number in {metrics.leakage_epsilon_sequence, metrics.confirmed_epsilon_sequence}:
        row = None if number is None else sequence_of(run, number, revealed=True)
        words = None if row is None else _spelled(row)
        if number is not None and words is not None:
            found[number] = words
    return found


def _spelled(row: SequenceRow) -> str | None:
    """Its first words; None where they are withheld."""
    if row.words is None:
        return None
    more = " …" if row.length > len(row.words) else ""
    return values.printable(" ".join(row.words)) + more
