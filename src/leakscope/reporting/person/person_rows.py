"""One user's rows of a run: the user, joined with their occurrences, joined with the sequences."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leakscope.records.artifacts import damaged
from leakscope.records.runs import sequence_columns, user_columns
from leakscope.records.runs.run_manifest import RunManifest
from leakscope.records.unique import is_unique
from leakscope.reporting.rows.listing import column_names, gravity, rows_with

_OCCURRENCE = ["sequence", "user", "start", "length", "perplexity"]


@dataclass(frozen=True)
class PersonRows:
    """What the tables of a run have of one user."""

    user: Mapping[str, Any]
    """The row of `users.parquet`."""
    sequences: list[dict[str, Any]]
    """A row for each listed sequence that came out of their documents: the unique ones first, the
    gravest of them at the top as in the report."""
    occurrences: int
    unlisted_occurrences: int
    predicted_words: int
    unique_words: int


def person_rows(run: Path, manifest: RunManifest, number: int) -> PersonRows:
    """The rows of the audited user with this number. Nothing of other users' text is in them."""
    revealed = manifest.revealed
    users = rows_with(
        run / "users.parquet",
        column_names(user_columns.COLUMNS, revealed=revealed),
        "user",
        [number],
    ).to_pylist()
    own = rows_with(run / "occurrences.parquet", _OCCURRENCE, "user", [number]).to_pylist()
    by_sequence: dict[int, list[dict[str, Any]]] = {}
    for occurrence in own:
        by_sequence.setdefault(occurrence["sequence"], []).append(occurrence)
    names = column_names(sequence_columns.COLUMNS, revealed=revealed)
    listed = rows_with(run / "sequences.parquet", names, "id", list(by_sequence)).to_pylist()
    most = manifest.settings.contexts
    rows = [_row(row, by_sequence[row["id"]], most) for row in listed]
    unique = [row for row in rows if row["unique"]]
    if len(users) != 1 or (users[0]["occurrences"], users[0]["unique_sequences"]) != (
        len(own),
        len(unique),
    ):
        raise damaged(run / "users.parquet")
    missing = set(by_sequence) - {row["id"] for row in rows}
    if missing and manifest.settings.user_threshold is None:
        raise damaged(run / "sequences.parquet")
    return PersonRows(
        user=users[0],
        sequences=sorted(rows, key=lambda row: _place(row, manifest)),
        occurrences=len(own),
        unlisted_occurrences=sum(len(by_sequence[each]) for each in missing),
        predicted_words=sum(each["length"] for each in own),
        unique_words=sum(row["occurrences"] * row["length"] for row in unique),
    )


def _place(row: dict[str, Any], manifest: RunManifest) -> tuple[float, ...]:
    """What the sequences are ordered by; those of several users are as in the table."""
    if not row["unique"]:
        return (1, row["id"])
    return (0, *gravity(row, manifest.settings.false_discovery_rate))


def _row(row: dict[str, Any], own: list[dict[str, Any]], most: int) -> dict[str, Any]:
    """A sequence with the user's `own` occurrences. Where others have it too, its row lists theirs
    among others: then all that is said of single occurrences is said of the user's own instead.
    """
    unique = bool(is_unique(np.array([row["users_in_d"]]))[0])
    if not unique:
        shortest = sorted(own, key=lambda each: each["start"])[:most]
        told = [each["perplexity"] for each in own if each["perplexity"] is not None]
        row = row | {
            column.name: None for column in sequence_columns.COLUMNS if column.by_occurrence
        }
        row |= {
            "context_lengths": [each["start"] for each in shortest],
            "perplexities": [each["perplexity"] for each in shortest],
            "lowest_perplexity": min(told, default=None),
        }
    return row | {"unique": unique, "occurrences": len(own)}
