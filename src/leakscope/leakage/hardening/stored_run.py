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
from leakscope.records.tables.table_batches import table_batches
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
    unique, path, schema = _unique_in(run), run / "occurrences.parquet", occurrences_schema()
    *asked, newest = schema.names  # older runs have no public log-probabilities
    kept = [
        _of_unique(rows, unique, path)
        for rows in table_batches(path, schema, columns or asked, () if columns else [newest])
    ]
    rows = pa.concat_tables(kept).combine_chunks()
    documents = rows["document"].to_numpy()
    if (documents[1:] < documents[:-1]).any() or len(np.unique(rows["sequence"])) != unique:
        raise damaged(path)
    return rows


def _unique_in(run: Path) -> int:
    """How many unique sequences a run has. They come first, so their ids are those below. Raise
    unless all that are listed have ids that can be.
    """
    manifest, metrics = open_run(run)
    listed = listed_columns(run, ["id", "users_in_d"])
    if any(column.null_count for column in listed.columns):
        raise damaged(run / "sequences.parquet")
    ids, unique = listed["id"].to_numpy(), is_unique(listed["users_in_d"].to_numpy())
    rising = np.sort(ids)
    # A run with --user-threshold leaves sequences out, but no unique one.
    whole = manifest.settings.user_threshold is None
    if (
        not np.array_equal(np.sort(ids[unique]), np.arange(metrics.unique_sequences))
        or (rising[1:] == rising[:-1]).any()
        or rising.max(initial=-1) >= metrics.sequences
        or len(ids) != (metrics.sequences if whole else metrics.below_threshold)
    ):
        raise damaged(run / "sequences.parquet")
    return metrics.unique_sequences


_LEAST = {"sequence": 0, "user": 0, "document": 0, "start": 0, "length": 1}
"""What the numbers of an occurrence are at least."""


def _of_unique(rows: pa.Table, unique: int, path: Path) -> pa.Table:
    """Those of sequences with an id below `unique`; raise if one has a place that cannot be."""
    if rows["sequence"].null_count:
        raise damaged(path)
    rows = rows.filter(pc.less(rows["sequence"], unique))
    for name, least in _LEAST.items():
        if name not in rows.column_names:
            continue
        if rows[name].null_count or rows[name].to_numpy().min(initial=least) < least:
            raise damaged(path)
    return rows


def _require_lengths(run: Path, column: pa.ChunkedArray, lengths: IntArray) -> None:
    """Raise unless each row has a list of its length."""
    if not np.array_equal(pc.list_value_length(column).to_numpy(), lengths):
        raise damaged(run / "occurrences.parquet")


def _flat(column: pa.ChunkedArray, kind: np.dtype[np.generic]) -> np.ndarray:
    flat = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return np.concatenate([np.zeros(0, kind), *flat]).astype(kind)
