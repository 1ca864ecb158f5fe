"""Read from a run's tables only the rows that are shown."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from leakscope.records.artifacts import damaged, open_parquet
from leakscope.records.columns import Column
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs import sequence_columns, user_columns
from leakscope.records.runs.run_manifest import open_run
from leakscope.records.unique import extremeness, is_unique

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

    values: Mapping[str, Any]
    """By column of `records.sequence_columns`; those that the table has and the run reveals."""
    unique: bool
    words: tuple[str, ...] | None
    """Its first words; None in a redacted run."""
    contexts: tuple[ContextGroup, ...]
    more_contexts: int
    """Groups that are not shown."""

    @property
    def length(self) -> int:
        """All of its words, shown or not."""
        return int(self.values["length"])


@dataclass(frozen=True)
class UserRow:
    """One user as listed."""

    values: Mapping[str, Any]
    """By column of `records.user_columns`; those that the table has and the run reveals."""

    @property
    def name(self) -> str:
        """The user's key; in a redacted run the number."""
        key = self.values.get("user_key")
        return f"user {self.values['user']}" if key is None else str(key)


def first_sequences(run: Path, limit: int, *, revealed: bool) -> list[SequenceRow]:
    """The first `limit` rows of `sequences.parquet`, unique ones first as they are ordered there.

    Words are passed on only if the run is `revealed`, whatever the file holds.
    """
    columns = column_names(sequence_columns.COLUMNS, revealed=revealed)
    rows: list[SequenceRow] = []
    for batch in _batches(run / "sequences.parquet", columns, min(BATCH, max(limit, 1))):
        for record in batch.slice(0, limit - len(rows)).to_pylist():
            rows.append(sequence_row(record, revealed))
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
        unique = is_unique(batch.column("users_in_d").to_numpy())
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


def gravest(run: Path, limit: int, *, revealed: bool) -> list[SequenceRow]:
    """The `limit` unique sequences to look at first: see `gravity`."""
    best: list[tuple[tuple[float, ...], dict[str, Any]]] = []
    rate = open_run(run)[0].settings.false_discovery_rate
    columns = column_names(sequence_columns.COLUMNS, revealed=revealed)
    for batch in _batches(run / "sequences.parquet", columns, BATCH):
        unique = is_unique(batch.column("users_in_d").to_numpy())
        if not unique.any():
            break  # they come first
        for record in batch.filter(pa.array(unique)).to_pylist():
            best.append((gravity(record, rate), record))
        best.sort(key=lambda each: each[0])
        del best[limit:]
    return [sequence_row(record, revealed) for _, record in best]


def gravity(record: Mapping[str, Any], rate: float) -> tuple[float, ...]:
    """What a unique sequence is ordered by, the gravest first: whether it is confirmed; of those,
    personal data; how much less probable it is to the public model; personal data; length; and the
    context that it needs. What was not measured comes last.
    """
    q, ratio, least = record.get("q_value"), record.get("ratio"), record.get("least_context")
    length, personal = record["length"], bool(record.get("pii"))
    confirmed = q is not None and q <= rate
    return (
        not confirmed,
        not (confirmed and personal),
        math.inf if ratio is None else -float(extremeness(length, ratio)),
        not personal,
        -length,
        math.inf if least is None else least,
        record["id"],
    )


def sequence_of(run: Path, number: int, *, revealed: bool) -> SequenceRow | None:
    """The sequence with this `id`; None if the table does not list it."""
    columns = column_names(sequence_columns.COLUMNS, revealed=revealed)
    for batch in _batches(run / "sequences.parquet", columns, BATCH):
        here = np.flatnonzero(batch.column("id").to_numpy() == number)
        if len(here):
            return sequence_row(batch.slice(int(here[0]), 1).to_pylist()[0], revealed)
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
    columns = column_names(user_columns.COLUMNS, revealed=revealed)
    best: list[dict[str, Any]] = []
    for batch in _batches(run / "users.parquet", columns, BATCH * 4):
        owned = batch.column("unique_sequences").to_numpy()
        longest = batch.column("longest_unique").fill_null(0).to_numpy()
        order = np.lexsort((-longest, -owned))[:limit]
        best += batch.take(pa.array(order[owned[order] > 0])).to_pylist()
        best.sort(key=lambda user: (-user["unique_sequences"], -user["longest_unique"]))
        del best[limit:]
    return [UserRow(record) for record in best]


def rows_with(path: Path, names: list[str], column: str, wanted: Sequence[Any]) -> pa.Table:
    """The rows of a table in which `column` has one of the `wanted` values: those of the columns
    `names` that the table has, of which `column` must be one.
    """
    found = []
    for batch in _batches(path, names, BATCH * 4):
        if column not in batch.schema.names:
            raise damaged(path)
        kept = pc.is_in(batch.column(column), value_set=pa.array(wanted, batch[column].type))
        found.append(batch.filter(kept))
    return pa.Table.from_batches(found) if found else pa.table({name: [] for name in names})


def column_names(registry: Sequence[Column], *, revealed: bool) -> list[str]:
    """The names of a table's columns; those that a redacted run withholds are not even read."""
    return [column.name for column in registry if revealed or not column.withheld]


def _batches(path: Path, columns: list[str], size: int) -> Iterator[Any]:
    """Batches of a table of ours; row groups are decoded only as far as they are asked for."""
    try:
        reader = open_parquet(path)
        known = set(reader.schema_arrow.names)  # runs of an earlier version have fewer columns
        asked = [name for name in columns if name in known]
        yield from reader.iter_batches(batch_size=size, columns=asked)
    except (pa.ArrowInvalid, OSError):
        raise damaged(path) from None


def sequence_row(record: dict[str, Any], revealed: bool) -> SequenceRow:
    """A row of `sequences.parquet` as it is shown."""
    words = record["sequence"] if revealed else None
    groups = _groups(record, revealed)
    return SequenceRow(
        values=record,
        unique=bool(is_unique(np.array([record["users_in_d"]]))[0]),
        words=None if words is None else tuple(words[:WORDS]),
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
