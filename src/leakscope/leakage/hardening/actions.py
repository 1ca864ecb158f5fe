"""From a report to an action list: documents to remove, users to review, copies to collapse."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from leakscope.corpus.store import Corpus
from leakscope.leakage.hardening.action_names import ActionNames, names_for
from leakscope.leakage.hardening.removal_order import Pairs, removal_order
from leakscope.leakage.hardening.stored_run import (
    StoredOccurrences,
    listed_columns,
    stored_unique,
)
from leakscope.records.artifacts import read_parquet
from leakscope.records.columns import check_columns
from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.run_manifest import open_run
from leakscope.records.runs.user_columns import users_schema
from leakscope.records.unique import is_unique

REPEATED = 3
"""A unique sequence stated so often by its one user counts as copied."""


@dataclass(frozen=True)
class DocumentAction:
    """A training document to remove or to rewrite."""

    document: int
    file: int | str | None
    """The input that it comes from: the file's name in a revealed list, else its number among the
    inputs, from 1. None: see `Suggestions.without_origins`."""
    row: int | None
    """Which record of that file it is, counted from 1."""
    user: int | str
    """The user's key in a revealed list, else the number."""
    sequences: int
    """Unique sequences that come out of it."""
    alone: int
    """Those of them that come out of no other document: gone with it."""
    gone_so_far: int
    """Unique sequences gone when this and all documents before it in the list are removed."""


@dataclass(frozen=True)
class UserAction:
    """A user whose data deserves a look."""

    user: int | str
    """The key in a revealed list, else the number."""
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
    user: int | str
    """The key in a revealed list, else the number."""
    times: int
    documents: int
    """Documents that it came out of."""


@dataclass(frozen=True)
class Suggestions:
    """What to do, most effective first, and what to expect of it after a new training."""

    corpus_digest: str
    """Of the corpus whose documents and users are meant."""
    revealed: bool
    """Whether users go by their keys and files by their names, or both by numbers."""
    interface: str | None
    """What stands before the model, see `Metrics.interface`; None: nothing."""
    unique_sequences: int
    documents: list[DocumentAction]
    documents_for_all: int
    """How many documents all unique sequences come out of."""
    users: list[UserAction]
    copies: list[CopyAction]
    copied_sequences: int
    """Unique sequences stated at least `REPEATED` times, whose copies could be collapsed."""
    without_origins: str | None
    """Why documents go without the file and row that they come from; None: they have them."""


def suggest(
    run: Path, most: int = 20, corpus: Corpus | None = None, *, reveal: bool = False
) -> Suggestions:
    """At most `most` actions of each kind, from the run's tables; the origins of documents, and the
    users' keys if a redacted run's are to be revealed, come from its corpus.
    """
    manifest, metrics = open_run(run)
    if corpus is not None and corpus.manifest.digest != manifest.corpus_digest:
        raise LeakscopeError(
            f"{run} was made on another corpus than {corpus.path}; give the one that it was made "
            f"on."
        )
    found = stored_unique(run)
    pairs = np.unique(np.stack([found.documents, found.sequences.astype(np.int64)]), axis=1)
    held_by = np.bincount(pairs[1]) if pairs.size else np.zeros(0, np.int64)
    repeated = _repeated(run, revealed=manifest.revealed)
    user_of = dict(zip(found.sequences.tolist(), found.users.tolist(), strict=True))
    named = names_for(run, corpus, reveal=reveal)
    return Suggestions(
        corpus_digest=manifest.corpus_digest,
        revealed=named.revealed,
        interface=metrics.interface,
        unique_sequences=metrics.unique_sequences,
        documents=_documents(found, pairs, held_by, most, named),
        documents_for_all=len(np.unique(pairs[0])),
        users=_users(run, most, named),
        copies=[
            CopyAction(
                sequence=row["id"],
                words=row.get("sequence"),
                length=row["length"],
                user=named.user(user_of[row["id"]]),
                times=row["total_in_d"],
                documents=int(held_by[row["id"]]),
            )
            for row in repeated[:most]
        ],
        copied_sequences=len(repeated),
        without_origins=named.without_origins,
    )


def _documents(
    found: StoredOccurrences, pairs: Pairs, held_by: LongArray, most: int, named: ActionNames
) -> list[DocumentAction]:
    order = removal_order(pairs, most)
    owner = dict(zip(found.documents.tolist(), found.users.tolist(), strict=True))
    origins = named.origins([document for document, _ in order])
    documents = []
    for document, gone in order:
        held = pairs[1][slice(*np.searchsorted(pairs[0], [document, document + 1]))]
        file, row = origins.get(document, (None, None))
        documents.append(
            DocumentAction(
                document=document,
                file=file,
                row=row,
                user=named.user(owner[document]),
                sequences=len(held),
                alone=int((held_by[held] == 1).sum()),
                gone_so_far=gone,
            )
        )
    return documents


def _repeated(run: Path, *, revealed: bool) -> list[dict[str, Any]]:
    """The unique sequences that are stated again and again, those with the most words first."""
    columns = ["id", "length", "total_in_d", "users_in_d"]
    columns += ["sequence"] if revealed else []
    table = listed_columns(run, columns)
    unique = is_unique(table["users_in_d"].to_numpy())
    rows = table.filter(pa.array(unique & (table["total_in_d"].to_numpy() >= REPEATED))).to_pylist()
    rows.sort(key=lambda row: (-row["total_in_d"] * row["length"], row["id"]))
    return list(rows)


_USED = ["user", "largest_ratio", "least_context", "pii"]
"""Columns of the users that make the list."""


def _users(run: Path, most: int, named: ActionNames) -> list[UserAction]:
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
            user=named.user(row["user"]),
            unique_sequences=row["unique_sequences"],
            largest_ratio=row["largest_ratio"],
            least_context=row["least_context"],
            pii=list(row["pii"] or ()),
        )
        for row in rows[:most]
    ]
