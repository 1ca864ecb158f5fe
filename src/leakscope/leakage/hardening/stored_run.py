"""What a finished run has stored, read back in columns."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leakscope.records.artifacts import damaged, read_parquet
from leakscope.records.columns import check_columns
from leakscope.records.documents import FloatArray, IntArray, LongArray
from leakscope.records.ragged import offsets_of
from leakscope.records.runs.occurrence_columns import occurrences_schema
from leakscope.records.runs.run_manifest import open_run
from leakscope.records.runs.sequence_columns import sequences_schema
from leakscope.records.unique import is_unique


@dataclass(frozen=True)
class StoredOccurrences:
    """The occurrences of unique sequences: u of them, with h words in all, in corpus order."""

    sequences: IntArray
    """[u] the sequence's id."""
    users: IntArray
    documents: LongArray
    starts: IntArray
    offsets: LongArray
    """[u + 1] occurrence i has words offsets[i] to offsets[i + 1] of the arrays below."""
    ranks: IntArray
    log_probs: FloatArray
    top_log_probs: FloatArray
    public_log_probs: FloatArray | None
    """[h]; None without a public model."""


def stored_unique(run: Path) -> StoredOccurrences:
    """The occurrences of the unique sequences of a run, redacted or not."""
    rows = occurrences_of_unique(run)
    lengths = rows["length"].to_numpy()
    public = None
    if "public_log_probs" in rows.column_names and not rows["public_log_probs"].null_count:
        public = _flat(rows["public_log_probs"], np.dtype(np.float32))
    found = StoredOccurrences(
        sequences=rows["sequence"].to_numpy(),
        users=rows["user"].to_numpy(),
        documents=rows["document"].to_numpy(),
        starts=rows["start"].to_numpy(),
        offsets=offsets_of(lengths),
        ranks=_flat(rows["ranks"], np.dtype(np.int32)),
        log_probs=_flat(rows["log_probs"], np.dtype(np.float32)),
        top_log_probs=_flat(rows["top_log_probs"], np.dtype(np.float32)),
        public_log_probs=public,
    )
    for name in ("ranks", "log_probs", "top_log_probs", "public_log_probs"):
        if name != "public_log_probs" or public is not None:
            _require_lengths(run, rows[name], lengths)
    return found


def listed_columns(run: Path, columns: list[str]) -> pa.Table:
    """These columns of `sequences.parquet`; raise if one is missing or of another type."""
    path = run / "sequences.parquet"
    table = read_parquet(path, columns)
    check_columns(path, table, sequences_schema(), columns)
    return table


def occurrences_of_unique(run: Path, columns: list[str] | None = None) -> pa.Table:
    """The rows of `occurrences.parquet` whose sequence is unique, with `columns` (or all), in
    corpus order. Raise unless every unique sequence has one, with a place that can be.
    """
    listed = listed_columns(run, ["id", "users_in_d"])
    unique = listed.filter(pa.array(is_unique(listed["users_in_d"].to_numpy())))["id"]
    _require_listed(run, np.sort(listed["id"].to_numpy()), len(unique))
    path, schema = run / "occurrences.parquet", occurrences_schema()
    rows = read_parquet(path, columns)
    # Older runs have no public log-probabilities.
    check_columns(path, rows, schema, columns or schema.names[:-1])
    rows = rows.filter(pc.is_in(rows["sequence"], value_set=unique.combine_chunks()))
    rows = rows.combine_chunks()
    places = {name: rows[name] for name in _LEAST if name in rows.column_names}
    if any(column.null_count for column in places.values()):
        raise damaged(path)
    numbers = {name: column.to_numpy() for name, column in places.items()}
    documents = numbers["document"]
    if (
        any(numbers[name].min(initial=_LEAST[name]) < _LEAST[name] for name in numbers)
        or (documents[1:] < documents[:-1]).any()
        or len(np.unique(numbers["sequence"])) != len(unique)
    ):
        raise damaged(path)
    return rows


def _require_listed(run: Path, ids: IntArray, unique: int) -> None:
    """Raise unless the table lists what it should, by its sorted `ids`: every sequence, or those
    with few users in S; and if so all that are unique.
    """
    metrics = open_run(run)[1]
    rising = not len(ids) or (ids[0] >= 0 and bool((np.diff(ids) > 0).all()))
    gap = metrics.user_threshold is None and len(ids) and ids[-1] != len(ids) - 1
    if not rising or gap or unique != metrics.unique_sequences:
        raise damaged(run / "sequences.parquet")


_LEAST = {"sequence": 0, "user": 0, "document": 0, "start": 0, "length": 1}
"""What the numbers of an occurrence are at least."""


def _require_lengths(run: Path, column: pa.ChunkedArray, lengths: IntArray) -> None:
    """Raise unless each row has a list of its length."""
    if not np.array_equal(pc.list_value_length(column).to_numpy(), lengths):
        raise damaged(run / "occurrences.parquet")


def _flat(column: pa.ChunkedArray, kind: np.dtype[np.generic]) -> np.ndarray:
    flat = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return np.concatenate([np.zeros(0, kind), *flat]).astype(kind)
