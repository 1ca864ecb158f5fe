"""The words and keys that a redacted run withholds, found again in its corpus by the places of its
occurrences.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leakscope.corpus.store import Corpus
from leakscope.leakage.rendering.stored_places import StoredPlaces
from leakscope.leakage.run_tables.spelling import user_keys, word_lists
from leakscope.leakage.sequences.distinct import Contexts, contexts_at, shortest_contexts
from leakscope.leakage.sequences.documents_by_number import words_at
from leakscope.records.artifacts import damaged, read_parquet
from leakscope.records.columns import check_columns
from leakscope.records.documents import IntArray, LongArray
from leakscope.records.ragged import offsets_of, places_of
from leakscope.records.runs.run_manifest import open_run
from leakscope.records.runs.sequence_columns import sequences_schema
from leakscope.records.runs.user_columns import users_schema


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
    def of(run: Path, corpus: Corpus, scratch: Path) -> "FilledWords":
        """Those of the run at `run`, which was made on D of this corpus; what grows with S is in
        files without a name in `scratch`.
        """
        manifest, metrics = open_run(run)
        settings = manifest.settings
        path = run / "sequences.parquet"
        names = ["id", "length", "context_lengths"]
        rows = read_parquet(path, names)
        check_columns(path, rows, sequences_schema(), names)
        source = run / "occurrences.parquet"
        places = StoredPlaces.of(source, metrics.sequences, scratch)
        lengths, starts = places.lengths, places.starts
        numbers_of_rows = _numbers(rows["id"], metrics.sequences, path)
        chosen = shortest_contexts(places.sequences, starts, metrics.sequences, settings.contexts)
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
            corpus.documents(), places.documents[first], begins, lengths[first].astype(np.int64)
        )
        contexts = contexts_at(
            corpus.documents(), places.documents[examples], starts[examples], settings.context_words
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


def _numbers(ids: pa.ChunkedArray, sequences: int, path: Path) -> LongArray:
    """[r] the ids of the rows; raise unless they can be."""
    if ids.null_count:
        raise damaged(path)
    found: LongArray = ids.to_numpy().astype(np.int64)
    if found.min(initial=0) < 0 or found.max(initial=-1) >= sequences:
        raise damaged(path)
    return found


class FilledKeys:
    """The keys of users by their numbers."""

    def __init__(self, corpus: Corpus) -> None:
        self._keys = user_keys(shard.user_keys() for shard in corpus.shards)

    def columns(self, rows: pa.Table, _: int) -> dict[str, pa.Array]:
        """The withheld columns of some rows of `users.parquet`."""
        keys = [self._keys[user] for user in rows["user"].to_pylist()]
        return {"user_key": pa.array(keys, users_schema().field("user_key").type)}
