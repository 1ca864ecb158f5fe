"""From a report to an action list: documents to remove, users to review, copies to collapse."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.leakage.hardening.stored_run import listed_columns, stored_unique
from leakscope.records.artifacts import read_parquet
from leakscope.records.columns import check_columns
from leakscope.records.runs.run_manifest import open_run
from leakscope.records.runs.user_columns import users_schema
from leakscope.records.unique import is_unique

REPEATED = 3
"""A unique sequence stated so often by its one user counts as copied."""


@dataclass(frozen=True)
class DocumentAction:
    """A training document to remove or to rewrite."""

    document: int
    user: int
    sequences: int
    """Unique sequences that come out of it."""
    alone: int
    """Those of them that come out of no other document: gone with it."""
    gone_so_far: int
    """Unique sequences gone when this and all documents before it in the list are removed."""


@dataclass(frozen=True)
class UserAction:
    """A user whose data deserves a look."""

    user: int
    user_key: str | None
    unique_sequences: int
    largest_ratio: float | None
    least_context: int | None
    pii: list[str]


@dataclass(frozen=True)
class CopyAction:
    """A unique sequence that its one user states again and again."""

    sequence: int
    words: list[str] | None
    length: int
    user: int
    times: int
    documents: int
    """Documents that it came out of."""


@dataclass(frozen=True)
class Suggestions:
    """What to do, most effective first, and what to expect of it after a new training."""

    unique_sequences: int
    documents: list[DocumentAction]
    documents_for_all: int
    """How many documents all unique sequences come out of."""
    users: list[UserAction]
    copies: list[CopyAction]
    copied_sequences: int
    """Unique sequences stated at least `REPEATED` times, whose copies could be collapsed."""


def suggest(run: Path, most: int = 20) -> Suggestions:
    """At most `most` actions of each kind, from the run's tables alone."""
    manifest, metrics = open_run(run)
    found = stored_unique(run)
    pairs = np.unique(np.stack([found.documents, found.sequences.astype(np.int64)]), axis=1)
    order = _greedy(pairs, most)
    owner = dict(zip(found.documents.tolist(), found.users.tolist(), strict=True))
    held_by = np.bincount(pairs[1]) if pairs.size else np.zeros(0, np.int64)
    documents = []
    for document, gone in order:
        held = pairs[1][pairs[0] == document]
        alone = int((held_by[held] == 1).sum())
        documents.append(DocumentAction(document, owner[document], len(held), alone, gone))
    columns = ["id", "length", "total_in_d", "users_in_d"]
    columns += ["sequence"] if manifest.revealed else []
    table = listed_columns(run, columns)
    unique = is_unique(table["users_in_d"].to_numpy())
    repeated = table.filter(
        pa.array(unique & (table["total_in_d"].to_numpy() >= REPEATED))
    ).to_pylist()
    repeated.sort(key=lambda row: (-row["total_in_d"] * row["length"], row["id"]))
    user_of = dict(zip(found.sequences.tolist(), found.users.tolist(), strict=True))
    copies = [
        CopyAction(
            sequence=row["id"],
            words=row.get("sequence"),
            length=row["length"],
            user=user_of[row["id"]],
            times=row["total_in_d"],
            documents=int(held_by[row["id"]]),
        )
        for row in repeated[:most]
    ]
    return Suggestions(
        unique_sequences=metrics.unique_sequences,
        documents=documents,
        documents_for_all=len(np.unique(pairs[0])),
        users=_users(run, most, revealed=manifest.revealed),
        copies=copies,
        copied_sequences=len(repeated),
    )


def _greedy(
    pairs: np.ndarray[tuple[int, int], np.dtype[np.int64]], most: int
) -> list[tuple[int, int]]:
    """Documents, each the one with the largest share in sequences that are left, with the number
    gone so far. A sequence is gone when every document that it comes out of is; one in n
    documents is worth 1/n to each, so that copies in many documents come one after another.
    """
    left: dict[int, int] = {}  # sequence -> documents that still hold it
    of_document: dict[int, list[int]] = {}
    for document, sequence in pairs.T.tolist():
        left[sequence] = left.get(sequence, 0) + 1
        of_document.setdefault(document, []).append(sequence)
    chosen: list[tuple[int, int]] = []
    gone = 0
    worth = {d: sum(1 / left[s] for s in held) for d, held in of_document.items()}
    while of_document and len(chosen) < most:
        document = min(worth, key=lambda d: (-worth[d], d))
        held = of_document.pop(document)
        del worth[document]
        touched = set()
        for sequence in held:
            left[sequence] -= 1
            gone += left[sequence] == 0
            touched.add(sequence)
        chosen.append((document, gone))
        for other, theirs in of_document.items():
            if touched.intersection(theirs):
                worth[other] = sum(1 / left[s] for s in theirs)
    return chosen


_USED = ["user", "user_key", "largest_ratio", "least_context", "pii"]
"""Columns of the users that make the list."""


def _users(run: Path, most: int, *, revealed: bool) -> list[UserAction]:
    path = run / "users.parquet"
    table, schema = read_parquet(path), users_schema()
    check_columns(path, table, schema, ["unique_sequences", *_USED])
    rows = [row for row in table.to_pylist() if (row["unique_sequences"] or 0) > 0]
    rows.sort(
        key=lambda row: (
            -len(row["pii"] or ()),
            -(row["largest_ratio"] or 0.0),
            -row["unique_sequences"],
            row["user"],
        )
    )
    return [
        UserAction(
            user=row["user"],
            user_key=row["user_key"] if revealed else None,
            unique_sequences=row["unique_sequences"],
            largest_ratio=row["largest_ratio"],
            least_context=row["least_context"],
            pii=list(row["pii"] or ()),
        )
        for row in rows[:most]
    ]
