"""Score a shard and keep its members of S: the first stage of a report."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from leakscope.corpus.store import Corpus, Shard
from leakscope.engine.shard_map import Work
from leakscope.leakage.correct_runs.occurrences import Occurrences, collect
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import damaged, open_parquet, parquet_sink
from leakscope.records.ragged import offsets_of

PIECE_WORDS = 400_000  # scored at a time: enough documents to batch by length

_SCHEMA = pa.schema(
    [
        ("user", pa.int32()),
        ("document", pa.int64()),
        ("start", pa.int32()),
        ("copied", pa.bool_()),
        ("near_tie", pa.bool_()),
        ("ids", pa.list_(pa.int32())),
        ("rank", pa.list_(pa.int32())),
        ("log_prob", pa.list_(pa.float32())),
        ("top_log_prob", pa.list_(pa.float32())),
    ]
)


@dataclass(frozen=True)
class ScoreStage:
    """The `engine` stage. `load` brings the model, reading the corpus's lexicon."""

    corpus: Path
    load: Callable[[], LanguageModel]
    top_k: int
    full: bool = False
    """Ask for every word's probability, which costs the full softmax."""
    name: str = "score"

    def start(self) -> Work:
        """Load the model."""
        model, shards = self.load(), Corpus.open(self.corpus).shards
        return lambda index, target: score_shard(
            model, shards[index], self.top_k, target, full=self.full
        )


def score_shard(
    model: LanguageModel, shard: Shard, top_k: int, target: Path, *, full: bool = False
) -> None:
    """Write the occurrences of one shard; the file's metadata has its `ShardTotals`."""
    near_ties, log_prob = 0, 0.0
    with parquet_sink(target, _SCHEMA, sealed=True) as writer:
        for documents in shard.documents(texts=model.needs_text):
            for piece in documents.pieces(PIECE_WORDS):
                scores = model.score(piece, top_k=top_k, every_probability=full)
                near_ties += int(scores.near_tie.sum())
                log_prob += float(scores.log_prob.sum(dtype=np.float64))
                writer.write_batch(_to_arrow(collect(piece, scores, top_k)))
        writer.add_key_value_metadata({"near_ties": str(near_ties), "log_prob": repr(log_prob)})


class ShardTotals(NamedTuple):
    """Sums over all words of a shard, correct or not."""

    near_ties: int
    log_prob: float
    """NaN unless every word's probability was asked for."""


def totals_in(path: Path) -> ShardTotals:
    """The totals of a scored shard."""
    known = open_parquet(path).metadata.metadata
    return ShardTotals(int(known[b"near_ties"]), float(known[b"log_prob"]))


def read_occurrences(path: Path) -> Iterator[Occurrences]:
    """Stream the occurrences of one shard."""
    reader = open_parquet(path)
    for group in range(reader.num_row_groups):
        try:
            table = reader.read_row_group(group)
        except (pa.ArrowInvalid, OSError):
            raise damaged(path) from None
        yield _from_arrow(table)


def _to_arrow(found: Occurrences) -> pa.RecordBatch:
    offsets = pa.array(found.offsets, pa.int32())
    flat = (found.ids, found.rank, found.log_prob, found.top_log_prob)
    lists = [pa.ListArray.from_arrays(offsets, pa.array(values)) for values in flat]
    plain = (found.users, found.documents, found.starts, found.copied, found.near_tie)
    return pa.record_batch([*(pa.array(column) for column in plain), *lists], schema=_SCHEMA)


def _from_arrow(table: pa.Table) -> Occurrences:
    flat = {}
    for name in ("ids", "rank", "log_prob", "top_log_prob"):
        column = table[name].combine_chunks()
        flat[name] = column.flatten().to_numpy(zero_copy_only=False)
    lengths = np.diff(table["ids"].combine_chunks().offsets.to_numpy())
    return Occurrences(
        users=table["user"].to_numpy(),
        documents=table["document"].to_numpy(),
        starts=table["start"].to_numpy(),
        copied=table["copied"].to_numpy(),
        near_tie=table["near_tie"].to_numpy(),
        offsets=offsets_of(lengths),
        **flat,
    )
