"""Read from a run's tables only the rows that are shown."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from leakscope.records.artifacts import damaged, open_parquet
from leakscope.records.errors import LeakscopeError

BATCH = 4096  # rows decoded at a time
CONTEXTS = 5  # different contexts shown with a sequence; the parquet file has the rest
WORDS = 60  # of a sequence that are shown


@dataclass(frozen=True)
class ContextGroup:
    """Occurrences of a sequence after the same words; redacted: after as many words."""

    words: tuple[str, ...] | None
    """The last words before the sequence; None in a redacted run."""
    length: int
    """Of the whole context, in words."""
    times: int
    low: float | None
    high: float | None
    """The range of the occurrences' perplexities; None: not known."""

    @property
    def cut(self) -> bool:
        """Whether the context has more words than are shown."""
        return self.words is not None and self.length > len(self.words)


@dataclass(frozen=True)
class SequenceRow:
    """One sequence as listed."""

    words: tuple[str, ...] | None
    length: int
    total_in_s: int
    users_in_s: int
    total_in_d: int
    users_in_d: int
    shortest_context: int | None
    perplexity: float | None
    """The smallest of its occurrences: where the model is surest."""
    ratio: float | None
    copied: bool
    near_tie: bool
    least_context: int | None
    """Words of the shortest prompt that still brings it out; None: not looked for."""
    least_context_exact: bool
    pii: tuple[str, ...]
    """Kinds of personal data that it looks like."""
    contexts: tuple[ContextGroup, ...]
    more_contexts: int
    """Groups that are not shown."""

    @property
    def unique(self) -> bool:
        """Whether one user alone has it in D."""
        return self.users_in_d == 1


@dataclass(frozen=True)
class UserRow:
    """One user as listed."""

    user: int
    key: str | None
    """None in a redacted run."""
    documents: int
    words: int
    unique_sequences: int
    longest_unique: int | None
    shortest_context: int | None
    largest_ratio: float | None
    least_context: int | None
    pii: tuple[str, ...]


def first_sequences(run: Path, limit: int, *, revealed: bool) -> list[SequenceRow]:
    """The first `limit` rows of `sequences.parquet`, unique ones first as they are ordered there.

    Words are passed on only if the run is `revealed`, whatever the file holds.
    """
    columns = None if revealed else _NUMBERS
    rows: list[SequenceRow] = []
    for batch in _batches(run / "sequences.parquet", columns, min(BATCH, max(limit, 1))):
        for record in batch.slice(0, limit - len(rows)).to_pylist():
            rows.append(_sequence_row(record, revealed))
        if len(rows) >= limit:
            break
    return rows


def unique_perplexities(run: Path, expected: int) -> npt.NDArray[np.float64]:
    """[u] the smallest perplexity of each unique sequence; reads no further than those."""
    found: list[npt.NDArray[np.float64]] = []
    seen = 0
    for batch in _batches(
        run / "sequences.parquet", ["users_in_d", "lowest_perplexity"], BATCH * 4
    ):
        if seen >= expected:
            break
        unique = batch.column("users_in_d").to_numpy() == 1
        seen += int(unique.sum())
        found.append(
            batch.column("lowest_perplexity")
            .to_numpy(zero_copy_only=False)[unique]
            .astype(np.float64)
        )
    if seen != expected:
        raise LeakscopeError(
            f"{run} has {seen} unique sequences in its table but {expected} in metrics.json; "
            "make the report again."
        )
    return np.concatenate([np.zeros(0), *found])


def easiest(run: Path, limit: int, *, revealed: bool) -> list[SequenceRow]:
    """The `limit` unique sequences that the least context brings out, the largest ratio first
    among equals; none where the least context was not looked for.
    """
    best: list[tuple[int, float, int, dict[str, Any]]] = []
    columns = None if revealed else _NUMBERS
    for batch in _batches(run / "sequences.parquet", columns, BATCH):
        if "least_context" not in batch.schema.names:
            return []
        measured = batch.column("least_context").is_valid().to_numpy(zero_copy_only=False)
        if not measured.any() and len(batch) and batch.column("users_in_d")[0].as_py() > 1:
            break
        for record in batch.filter(pa.array(measured)).to_pylist():
            ratio = record["ratio"] if record["ratio"] is not None else 0.0
            best.append((record["least_context"], -ratio, -record["length"], record))
        best.sort(key=lambda each: each[:3])
        del best[limit:]
    return [_sequence_row(record, revealed) for *_, record in best]


def sequence_of(run: Path, number: int, *, revealed: bool) -> SequenceRow | None:
    """The sequence with this `id`; None if the table does not list it."""
    columns = ["id", *_NUMBERS, *(["sequence", "contexts"] if revealed else [])]
    for batch in _batches(run / "sequences.parquet", columns, BATCH):
        here = np.flatnonzero(batch.column("id").to_numpy() == number)
        if len(here):
            return _sequence_row(batch.slice(int(here[0]), 1).to_pylist()[0], revealed)
    return None


def unique_by_user(run: Path) -> npt.NDArray[np.int64]:
    """[n] unique sequences of each user who has any, most first."""
    found = [
        batch.column("unique_sequences").to_numpy()
        for batch in _batches(run / "users.parquet", ["unique_sequences"], BATCH * 4)
    ]
    numbers = np.concatenate([np.zeros(0, np.int64), *found]).astype(np.int64)
    return np.sort(numbers[numbers > 0])[::-1]


def most_exposed(run: Path, limit: int, *, revealed: bool) -> list[UserRow]:
    """The `limit` users with most unique sequences, most first; users without any are left out."""
    columns = _USER_COLUMNS if revealed else [name for name in _USER_COLUMNS if name != "user_key"]
    best: list[dict[str, Any]] = []
    for batch in _batches(run / "users.parquet", columns, BATCH * 4):
        owned = batch.column("unique_sequences").to_numpy()
        longest = batch.column("longest_unique").fill_null(0).to_numpy()
        order = np.lexsort((-longest, -owned))[:limit]
        best += batch.take(pa.array(order[owned[order] > 0])).to_pylist()
        best.sort(key=lambda user: (-user["unique_sequences"], -user["longest_unique"]))
        del best[limit:]
    return [
        UserRow(
            user=record["user"],
            key=record.get("user_key"),
            documents=record["documents"],
            words=record["words"],
            unique_sequences=record["unique_sequences"],
            longest_unique=record["longest_unique"],
            shortest_context=record["shortest_context"],
            largest_ratio=record.get("largest_ratio"),
            least_context=record.get("least_context"),
            pii=tuple(record.get("pii") or ()),
        )
        for record in best
    ]


_NUMBERS = [
    "length", "total_in_s", "users_in_s", "total_in_d", "users_in_d", "context_lengths",
    "perplexities", "lowest_perplexity", "ratio", "copied_from_context", "near_tie",
    "least_context", "least_context_exact", "pii",
]  # fmt: skip
_USER_COLUMNS = [
    "user", "user_key", "documents", "words", "unique_sequences", "longest_unique",
    "shortest_context", "largest_ratio", "least_context", "pii",
]  # fmt: skip


def _batches(path: Path, columns: list[str] | None, size: int) -> Iterator[Any]:
    """Batches of a table of ours; row groups are decoded only as far as they are asked for."""
    try:
        reader = open_parquet(path)
        known = set(reader.schema_arrow.names)  # runs of an earlier version have fewer columns
        asked = None if columns is None else [name for name in columns if name in known]
        yield from reader.iter_batches(batch_size=size, columns=asked)
    except (pa.ArrowInvalid, OSError):
        raise damaged(path) from None


def _sequence_row(record: dict[str, Any], revealed: bool) -> SequenceRow:
    words = record["sequence"] if revealed else None
    groups = _groups(record, revealed)
    return SequenceRow(
        words=None if words is None else tuple(words[:WORDS]),
        length=record["length"],
        total_in_s=record["total_in_s"],
        users_in_s=record["users_in_s"],
        total_in_d=record["total_in_d"],
        users_in_d=record["users_in_d"],
        shortest_context=min(record["context_lengths"] or [], default=None),
        perplexity=record["lowest_perplexity"],
        ratio=record["ratio"],
        copied=bool(record["copied_from_context"]),
        near_tie=bool(record["near_tie"]),
        least_context=record.get("least_context"),
        least_context_exact=bool(record.get("least_context_exact")),
        pii=tuple(record.get("pii") or ()),
        contexts=tuple(groups[:CONTEXTS]),
        more_contexts=max(0, len(groups) - CONTEXTS),
    )


def _groups(record: dict[str, Any], revealed: bool) -> list[ContextGroup]:
    """The listed occurrences by context, shortest first: the same prompt is shown once."""
    lengths: list[int] = record["context_lengths"] or []
    perplexities: list[float | None] = record["perplexities"] or []
    contexts = (record["contexts"] if revealed else None) or [None] * len(lengths)
    together: dict[tuple[int, tuple[str, ...] | None], list[float | None]] = {}
    for words, length, perplexity in zip(contexts, lengths, perplexities, strict=True):
        key = (length, None if words is None else tuple(words))
        together.setdefault(key, []).append(perplexity)
    groups = []
    for (length, words), found in together.items():
        told = [value for value in found if value is not None]
        low, high = min(told, default=None), max(told, default=None)
        groups.append(ContextGroup(words, length, len(found), low, high))
    return groups
