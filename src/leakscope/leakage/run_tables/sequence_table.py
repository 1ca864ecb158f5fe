"""`sequences.parquet`: a row for each distinct sequence of S, in parts of so many rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from leakscope.leakage.run_tables.arrow_lists import lists, nullable
from leakscope.leakage.run_tables.spelling import Spelled, Speller
from leakscope.leakage.scrutiny.findings import UniqueFindings
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.leakage.sequences.distinct import Examples
from leakscope.records.documents import BoolArray, FloatArray, IntArray, LongArray
from leakscope.records.runs.sequence_columns import sequences_schema

ROWS = 50_000  # of a part, which bounds the memory for spelled-out words
_PLAIN = (
    "length",
    "total_in_s",
    "users_in_s",
    "total_in_d",
    "users_in_d",
    "copied_from_context",
    "near_tie",
)


@dataclass(frozen=True)
class ListedExamples:
    """What is told of the e listed occurrences of some rows."""

    offsets: LongArray
    """[r + 1] row i lists those from offsets[i] to offsets[i + 1]."""
    starts: IntArray
    perplexities: FloatArray
    public: FloatArray | None
    """[e] the public model's perplexities, if there is one."""
    words: Spelled | None
    """Of the sequences; None: they are withheld."""
    contexts: Spelled | None


@dataclass(frozen=True)
class CloserFindings:
    """What is known of unique sequences only; None where nobody asked."""

    ratio: FloatArray | None
    q_value: npt.NDArray[np.float64] | None
    public_predicts: BoolArray | None
    least: IntArray
    """[r] -1 where it is not known, like the numbers below."""
    least_exact: BoolArray
    tried: IntArray
    out: IntArray
    kinds: list[list[str]] | None
    """[r] of personal data."""


@dataclass(frozen=True)
class SequenceRows:
    """All that decides r consecutive rows, not all of which are listed."""

    id: LongArray
    listed: BoolArray
    unique: BoolArray
    length: IntArray
    total_in_s: LongArray
    users_in_s: IntArray
    total_in_d: LongArray
    users_in_d: IntArray
    lowest_perplexity: FloatArray
    copied_from_context: BoolArray
    near_tie: BoolArray
    examples: ListedExamples
    closer: CloserFindings

    def columns(self, words: pa.Array | None) -> dict[str, pa.Array]:
        """The values of the columns by name; `words` are the lexicon's, None if they are
        withheld.
        """
        return {
            "id": pa.array(self.id, pa.int32()),
            **{name: getattr(self, name) for name in _PLAIN},
            "lowest_perplexity": nullable(self.lowest_perplexity),
            **_columns_of_examples(self.examples, ~self.unique, words),
            **_columns_of_unique(self.closer, ~self.unique),
        }


@dataclass(frozen=True)
class SequenceTable:
    """See `PartedTable`."""

    counted: CountedSequences
    findings: UniqueFindings
    chosen: Examples
    """The occurrences that each row lists."""
    speller: Speller | None
    """None: words are withheld."""
    user_threshold: int | None = None
    """Only sequences of fewer users of S are listed."""

    @property
    def schema(self) -> pa.Schema:
        """See `sequence_columns`."""
        return sequences_schema()

    @property
    def parts(self) -> int:
        """Ranges of rows."""
        return max(1, -(-len(self.counted.sequences) // ROWS))

    def content(self, part: int) -> SequenceRows:
        """Of one range."""
        low = part * ROWS
        here = slice(low, min(low + ROWS, len(self.counted.sequences)))
        found, most = self.counted.sequences, self.user_threshold
        users = found.users_in_s[here]
        return SequenceRows(
            id=np.arange(here.start, here.stop),
            listed=np.ones(len(users), np.bool_) if most is None else users < most,
            unique=found.unique_in(here),
            length=found.lengths[here],
            total_in_s=found.total_in_s[here],
            users_in_s=users,
            total_in_d=found.total_in_d[here],
            users_in_d=found.users_in_d[here],
            lowest_perplexity=found.lowest[here],
            copied_from_context=found.copied[here],
            near_tie=found.near_tie[here],
            examples=self._examples(here),
            closer=self._closer(here),
        )

    def rows(self, part: int) -> Iterator[pa.Table]:
        """A row for each sequence that is listed."""
        found, schema = self.content(part), self.schema
        columns = found.columns(None if self.speller is None else self.speller.words)
        table = pa.table([pa.array(columns[name]) for name in schema.names], schema=schema)
        yield table.filter(pa.array(found.listed))

    def _examples(self, here: slice) -> ListedExamples:
        chosen, members = self.chosen, self.counted.members
        offsets = chosen.offsets[here.start : here.stop + 1]
        begin, end = int(offsets[0]), int(offsets[-1])
        examples = chosen.members[begin:end]
        ratios, speller = self.findings.ratios, self.speller
        nodes = self.counted.sequences.nodes[here]
        return ListedExamples(
            offsets=offsets - begin,
            starts=members.starts[examples],
            perplexities=members.perplexities[examples],
            public=None if ratios is None else ratios.public_of(examples),
            words=None if speller is None else speller.sequences(nodes),
            contexts=None if speller is None else speller.contexts(begin, end),
        )

    @cached_property
    def _least(self) -> tuple[IntArray, BoolArray]:
        return self.findings.least_of(len(self.counted.sequences))

    @cached_property
    def _elsewhere(self) -> tuple[IntArray, IntArray]:
        return self.findings.elsewhere_of(len(self.counted.sequences))

    def _closer(self, here: slice) -> CloserFindings:
        findings, line, tags = self.findings, self.findings.chance.value, self.findings.tags
        predicts, ratios = findings.public_predicts, findings.ratios
        kinds = None
        if tags is not None:
            kinds = [list(tags.get(row, ())) for row in range(here.start, here.stop)]
        return CloserFindings(
            ratio=None if ratios is None else ratios.of_sequence[here],
            q_value=None if line is None else line.q_values[here],
            public_predicts=None if predicts is None else predicts[here],
            least=self._least[0][here],
            least_exact=self._least[1][here],
            tried=self._elsewhere[0][here],
            out=self._elsewhere[1][here],
            kinds=kinds,
        )


def _columns_of_examples(
    found: ListedExamples, hidden: BoolArray, words: pa.Array | None
) -> dict[str, pa.Array]:
    size, offsets = len(hidden), pa.array(found.offsets, pa.int32())
    sequence = pa.nulls(size, pa.list_(pa.string()))
    contexts = pa.nulls(size, pa.list_(pa.list_(pa.string())))
    if found.words is not None and found.contexts is not None:
        sequence = found.words.lists(words)
        contexts = pa.ListArray.from_arrays(offsets, found.contexts.lists(words))
    public = pa.nulls(size, pa.list_(pa.float32()))
    if found.public is not None:
        public = pa.ListArray.from_arrays(offsets, pa.array(found.public), mask=pa.array(hidden))
    return {
        "sequence": sequence,
        "contexts": contexts,
        "context_lengths": lists(offsets, found.starts),
        "perplexities": lists(offsets, found.perplexities),
        "public_perplexities": public,
    }


def _columns_of_unique(found: CloserFindings, hidden: BoolArray) -> dict[str, pa.Array]:
    """Null where a sequence is not unique, and where nothing was measured."""

    def known(values: npt.NDArray[np.generic] | None, kind: pa.DataType) -> pa.Array:
        return pa.nulls(len(hidden), kind) if values is None else pa.array(values, mask=hidden)

    kinds = pa.nulls(len(hidden), pa.list_(pa.string()))
    if found.kinds is not None:
        listed = [None if out else each for out, each in zip(hidden, found.kinds, strict=True)]
        kinds = pa.array(listed, pa.list_(pa.string()))
    return {
        "ratio": known(found.ratio, pa.float32()),
        "q_value": known(found.q_value, pa.float64()),
        "public_predicts": known(found.public_predicts, pa.bool_()),
        "least_context": pa.array(found.least, mask=found.least < 0),
        "least_context_exact": pa.array(found.least_exact, mask=found.least < 0),
        "elsewhere_tried": pa.array(found.tried, mask=found.tried < 0),
        "elsewhere_out": pa.array(found.out, mask=found.tried < 0),
        "pii": kinds,
    }
