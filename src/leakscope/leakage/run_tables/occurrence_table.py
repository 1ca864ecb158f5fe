"""Write `occurrences.parquet`: a row for each member of S."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.leakage.correct_runs.score_stage import read_occurrences
from leakscope.leakage.run_tables.arrow_lists import lists, nullable
from leakscope.leakage.scrutiny.public_surprise import PublicAnswers
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.records.artifacts import parquet_sink
from leakscope.records.ragged import offsets_of
from leakscope.records.runs.occurrence_columns import occurrences_schema


def write_occurrences(
    path: Path, parts: Iterable[Path], counted: CountedSequences, public: PublicAnswers | None
) -> None:
    """One row for each occurrence of the scored shards `parts`, in corpus order."""
    done, schema = 0, occurrences_schema()
    with parquet_sink(path, schema) as writer:
        for part in parts:
            for found in read_occurrences(part):
                here = slice(done, done + len(found))
                done += len(found)
                offsets = pa.array(found.offsets, pa.int32())
                columns = {
                    "sequence": counted.sequences.of_member[here],
                    "user": found.users,
                    "document": found.documents,
                    "start": found.starts,
                    "length": counted.members.lengths[here],
                    "perplexity": nullable(counted.members.perplexities[here]),
                    "copied": found.copied,
                    "near_tie": found.near_tie,
                    "ranks": lists(offsets, found.rank),
                    "log_probs": lists(offsets, found.log_prob),
                    "top_log_probs": lists(offsets, found.top_log_prob),
                    "public_log_probs": _public_log_probs(public, here),
                }
                arrays = [pa.array(columns[name]) for name in schema.names]
                writer.write_table(pa.table(arrays, schema=schema))


def _public_log_probs(said: PublicAnswers | None, here: slice) -> pa.Array:
    """Lists for the occurrences that the public model judged, null for the others."""
    size = here.stop - here.start
    if said is None:
        return pa.nulls(size, pa.list_(pa.float32()))
    low, high = np.searchsorted(said.members, [here.start, here.stop])
    judged = said.members[low:high] - here.start
    lengths = np.zeros(size, np.int64)
    lengths[judged] = np.diff(said.offsets)[low:high]
    absent = np.ones(size, np.bool_)
    absent[judged] = False
    return pa.ListArray.from_arrays(
        pa.array(offsets_of(lengths), pa.int32()),
        pa.array(said.log_probs[said.offsets[low] : said.offsets[high]]),
        mask=pa.array(absent),
    )
