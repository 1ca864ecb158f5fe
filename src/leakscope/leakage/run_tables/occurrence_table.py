"""`occurrences.parquet`: a row for each member of S, in parts that are scored pieces."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.leakage.correct_runs.occurrences import Occurrences
from leakscope.leakage.correct_runs.score_stage import occurrences_in, read_occurrences
from leakscope.leakage.run_tables.arrow_lists import lists, nullable
from leakscope.leakage.scrutiny.public_surprise import PublicAnswers
from leakscope.leakage.sequences.members import run_perplexities
from leakscope.records.artifacts import sealed_digest
from leakscope.records.documents import FloatArray, IntArray, LongArray
from leakscope.records.ragged import offsets_of
from leakscope.records.runs.occurrence_columns import occurrences_schema


@dataclass(frozen=True)
class OccurrenceRows:
    """All that decides the rows of some consecutive occurrences."""

    piece: str | None
    """The digest of the scored piece that has them."""
    sequences: IntArray
    """[o] the row of each one's sequence."""
    judged: LongArray
    """[j] which of them the public model judged, counted from the first."""
    public_lengths: LongArray
    """[j] how many words each of these has."""
    public_log_probs: FloatArray


@dataclass(frozen=True)
class OccurrenceTable:
    """See `PartedTable`."""

    pieces: Sequence[Path]
    """Scored; the occurrences are in their order."""
    of_member: IntArray
    """[o] the sequence of each occurrence."""
    public: PublicAnswers | None

    @property
    def schema(self) -> pa.Schema:
        """See `occurrence_columns`."""
        return occurrences_schema()

    @property
    def parts(self) -> int:
        """The pieces."""
        return len(self.pieces)

    @cached_property
    def _offsets(self) -> LongArray:
        return offsets_of(np.array([occurrences_in(each) for each in self.pieces], np.int64))

    def content(self, part: int) -> OccurrenceRows:
        """Of all occurrences of a piece."""
        low, high = self._offsets[part : part + 2].tolist()
        return self._content(part, low, high)

    def rows(self, part: int) -> Iterator[pa.Table]:
        """A row for each occurrence, in corpus order."""
        done, schema = int(self._offsets[part]), self.schema
        for found in read_occurrences(self.pieces[part]):
            columns = _columns(found, self._content(part, done, done + len(found)))
            done += len(found)
            yield pa.table([pa.array(columns[name]) for name in schema.names], schema=schema)

    def _content(self, part: int, low: int, high: int) -> OccurrenceRows:
        said = PublicAnswers.none() if self.public is None else self.public
        first, last = np.searchsorted(said.members, [low, high])
        return OccurrenceRows(
            sealed_digest(self.pieces[part]),
            self.of_member[low:high],
            said.members[first:last] - low,
            np.diff(said.offsets[first : last + 1]),
            said.log_probs[said.offsets[first] : said.offsets[last]],
        )


def _columns(found: Occurrences, more: OccurrenceRows) -> dict[str, pa.Array]:
    offsets = pa.array(found.offsets, pa.int32())
    return {
        "sequence": more.sequences,
        "user": found.users,
        "document": found.documents,
        "start": found.starts,
        "length": found.lengths().astype(np.int32),
        "perplexity": nullable(run_perplexities(found.log_prob, found.offsets)),
        "copied": found.copied,
        "near_tie": found.near_tie,
        "ranks": lists(offsets, found.rank),
        "log_probs": lists(offsets, found.log_prob),
        "top_log_probs": lists(offsets, found.top_log_prob),
        "public_log_probs": _public_log_probs(more),
    }


def _public_log_probs(more: OccurrenceRows) -> pa.Array:
    """Lists for the occurrences that the public model judged, null for the others."""
    size = len(more.sequences)
    lengths, absent = np.zeros(size, np.int64), np.ones(size, np.bool_)
    lengths[more.judged] = more.public_lengths
    absent[more.judged] = False
    return pa.ListArray.from_arrays(
        pa.array(offsets_of(lengths), pa.int32()),
        pa.array(more.public_log_probs),
        mask=pa.array(absent),
    )
