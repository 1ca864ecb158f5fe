"""What a finished run has stored, read back in columns."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leakscope.records.artifacts import read_parquet
from leakscope.records.documents import FloatArray, IntArray, LongArray
from leakscope.records.ragged import offsets_of
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
    table = read_parquet(run / "sequences.parquet", ["id", "users_in_d"])
    unique = table.filter(pa.array(is_unique(table["users_in_d"].to_numpy())))["id"]
    rows = read_parquet(run / "occurrences.parquet")
    rows = rows.filter(pc.is_in(rows["sequence"], value_set=unique.combine_chunks()))
    rows = rows.combine_chunks()
    lengths = rows["length"].to_numpy()
    public = None
    if "public_log_probs" in rows.column_names and not rows["public_log_probs"].null_count:
        public = _flat(rows["public_log_probs"], np.dtype(np.float32))
    return StoredOccurrences(
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


def _flat(column: pa.ChunkedArray, kind: np.dtype[np.generic]) -> np.ndarray:
    flat = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in column.chunks]
    return np.concatenate([np.zeros(0, kind), *flat]).astype(kind)
