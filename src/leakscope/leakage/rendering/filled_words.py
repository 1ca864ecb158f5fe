"""The words and keys that a redacted run withholds, found again in its corpus by the places of its
occurrences.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leakscope.corpus.store import Corpus
from leakscope.leakage.run_tables.spelling import user_keys, word_lists
from leakscope.leakage.sequences.distinct import Contexts, contexts_at, shortest_contexts
from leakscope.leakage.sequences.documents_by_number import words_at
from leakscope.records.artifacts import damaged, read_parquet
from leakscope.records.columns import check_columns
from leakscope.records.documents import IntArray, LongArray
from leakscope.records.ragged import offsets_of, places_of
from leakscope.records.runs.occurrence_columns import occurrences_schema
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.sequence_columns import sequences_schema
from leakscope.records.runs.user_columns import users_schema

_PLACE = ["sequence", "document", "start", "length"]


@dataclass(frozen=True)
class FilledWords:
    """The words of the sequences that `sequences.parquet` lists, row by row, and their contexts."""

    lexicon: pa.Array
    offsets: LongArray
    """[r + 1] row i has the words ids[offsets[i] : offsets[i + 1]]."""
    ids: IntArray
    listed: LongArray
    """[r + 1] row i has the contexts listed[i] to listed[i + 1]."""
    contexts: Contexts

    @staticmethod
    def of(run: Path, corpus: Corpus, settings: ReportSettings) -> "FilledWords":
        """Those of the run at `run`, which was made on D of this corpus."""
        path = run / "sequences.parquet"
        names = ["id", "length", "context_lengths"]
        rows = read_parquet(path, names)
        check_columns(path, rows, sequences_schema(), names)
        source = run / "occurrences.parquet"
        found = read_parquet(source, _PLACE)
        check_columns(source, found, occurrences_schema(), _PLACE)
        if any(column.null_count for column in found.columns) or rows["id"].null_count:
            raise damaged(source)
        owner, numbers, starts, lengths = (found[name].to_numpy() for name in _PLACE)
        numbers_of_rows = rows["id"].to_numpy().astype(np.int64)
        size = int(max(numbers_of_rows.max(initial=-1), owner.max(initial=-1))) + 1
        chosen = shortest_contexts(owner, starts, size, settings.contexts)
        counts = np.diff(chosen.offsets)[numbers_of_rows]
        if (counts == 0).any():
            raise damaged(source)
        first = chosen.members[chosen.offsets[numbers_of_rows]]
        examples = chosen.members[places_of(chosen.offsets[numbers_of_rows], counts)]
        said = pc.list_flatten(rows["context_lengths"]).to_numpy()
        if not (
            np.array_equal(lengths[first], rows["length"].to_numpy())
            and np.array_equal(starts[examples], said)
        ):
            raise damaged(path)
        begins = starts[first].astype(np.int64)
        offsets, ids = words_at(
            corpus.documents(), numbers[first], begins, lengths[first].astype(np.int64)
        )
        contexts = contexts_at(
            corpus.documents(), numbers[examples], starts[examples], settings.context_words
        )
        words = pa.array(corpus.lexicon.words, pa.string())
        return FilledWords(words, offsets, ids, offsets_of(counts), contexts)

    def columns(self, rows: pa.Table, first: int) -> dict[str, pa.Array]:
        """The withheld columns of rows `first` and the following."""
        last = first + len(rows)
        before = self.listed[first : last + 1]
        each = self._lists(self.contexts.offsets[before[0] : before[-1] + 1], self.contexts.ids)
        return {
            "sequence": self._lists(self.offsets[first : last + 1], self.ids),
            "contexts": pa.ListArray.from_arrays(pa.array(before - before[0], pa.int32()), each),
        }

    def _lists(self, offsets: LongArray, ids: IntArray) -> pa.ListArray:
        return word_lists(self.lexicon, offsets - offsets[0], ids[offsets[0] : offsets[-1]])


class FilledKeys:
    """The keys of users by their numbers."""

    def __init__(self, corpus: Corpus) -> None:
        self._keys = user_keys(shard.user_keys() for shard in corpus.shards)

    def columns(self, rows: pa.Table, _: int) -> dict[str, pa.Array]:
        """The withheld columns of some rows of `users.parquet`."""
        keys = [self._keys[user] for user in rows["user"].to_pylist()]
        return {"user_key": pa.array(keys, users_schema().field("user_key").type)}
