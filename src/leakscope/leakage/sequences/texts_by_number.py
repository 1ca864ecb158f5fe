"""The texts of some documents of a corpus, without their words; long ones as bytes."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leakscope.corpus.personal_data.text_windows import LONG, Text
from leakscope.corpus.shard_bounds import untrue
from leakscope.corpus.store import Shard
from leakscope.records.artifacts import damaged, open_parquet
from leakscope.records.documents import LongArray


def texts_numbered(shards: list[Shard], numbers: LongArray) -> Iterator[tuple[int, Text]]:
    """The number and the text of each of these documents (rising numbers, each once), in their
    order. Raise if one of them is not there. Only the texts of one row group are in memory.
    """
    wanted = np.unique(numbers)
    done = 0
    for shard in shards:
        first, last = shard.bounds.documents
        low, high = np.searchsorted(wanted, [first, last + 1])
        if low == high:
            continue
        reader = open_parquet(shard.path, checked=bool(shard.digest))
        for group in range(reader.num_row_groups):
            for number, text in _of_group(shard, reader, group, wanted[low:high]):
                if done == high or number != wanted[done]:
                    raise damaged(shard.path)
                done += 1
                yield number, text
        if done != high:
            raise damaged(shard.path)
    if done != len(wanted):
        raise untrue(shards[0].path.parent, "have no document of a number that is asked for")


def _of_group(
    shard: Shard, reader: pq.ParquetFile, group: int, wanted: LongArray
) -> Iterator[tuple[int, Text]]:
    try:
        numbers = reader.read_row_group(group, columns=["document"])["document"].to_numpy()
        rows = np.flatnonzero(np.isin(numbers, wanted))
        if not len(rows):
            return
        texts = reader.read_row_group(group, columns=["text"])["text"]
        pa.default_memory_pool().release_unused()  # reading takes several times their memory
        for row in rows.tolist():
            said = texts[row].as_buffer()
            if said is None:
                raise damaged(shard.path)
            text = memoryview(said) if said.size > LONG else said.to_pybytes().decode()
            yield int(numbers[row]), text
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        raise damaged(shard.path) from None
