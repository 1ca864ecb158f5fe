"""Write `sequences.parquet`: a row for each distinct sequence of S."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.leakage.run_tables.arrow_lists import lists, nullable
from leakscope.leakage.run_tables.spelling import Speller
from leakscope.leakage.scrutiny.findings import UniqueFindings
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.leakage.sequences.distinct import Examples
from leakscope.records.artifacts import parquet_sink
from leakscope.records.documents import BoolArray, LongArray
from leakscope.records.runs.sequence_columns import sequences_schema

ROWS = 50_000  # written at a time, which bounds the memory for spelled-out words


def write_sequences(path: Path, source: "SequenceSource", listed: BoolArray) -> None:
    """One row for each sequence that is `listed` [s]."""
    schema = sequences_schema()
    size = len(source.counted.sequences)
    with parquet_sink(path, schema) as writer:
        for low in range(0, size, ROWS):
            rows = np.arange(low, min(low + ROWS, size))
            columns = source.columns(rows)
            arrays = [pa.array(columns[name]) for name in schema.names]
            table = pa.table(arrays, schema=schema)
            writer.write_table(table.filter(pa.array(listed[rows])))


@dataclass(frozen=True)
class SequenceSource:
    """Where the values of the columns come from."""

    counted: CountedSequences
    findings: UniqueFindings
    chosen: Examples
    """The occurrences that each row lists."""
    spelled: Speller | None
    """None: words are withheld."""

    def columns(self, rows: LongArray) -> dict[str, pa.Array]:
        """The values of some consecutive rows, by the name of their column."""
        sequences = self.counted.sequences
        return {
            "id": pa.array(rows, pa.int32()),
            "length": sequences.lengths[rows],
            "total_in_s": sequences.total_in_s[rows],
            "users_in_s": sequences.users_in_s[rows],
            "total_in_d": sequences.total_in_d[rows],
            "users_in_d": sequences.users_in_d[rows],
            "lowest_perplexity": nullable(sequences.lowest[rows]),
            "copied_from_context": sequences.copied[rows],
            "near_tie": sequences.near_tie[rows],
            **self._listed_occurrences(rows),
            **self._closer_look(rows),
        }

    def _listed_occurrences(self, rows: LongArray) -> dict[str, pa.Array]:
        """Words, and what is told of each listed occurrence."""
        chosen, members, sequences = self.chosen, self.counted.members, self.counted.sequences
        begins, ends = chosen.offsets[rows[0]], chosen.offsets[rows[-1] + 1]
        examples = chosen.members[begins:ends]
        offsets = pa.array(chosen.offsets[rows[0] : rows[-1] + 2] - begins, pa.int32())
        ratios, hidden = self.findings.ratios, ~sequences.unique[rows]
        words = pa.nulls(len(rows), pa.list_(pa.string()))
        contexts = pa.nulls(len(rows), pa.list_(pa.list_(pa.string())))
        if self.spelled is not None:
            words = self.spelled.sequences(sequences.nodes[rows])
            each = self.spelled.contexts(int(begins), int(ends))
            contexts = pa.ListArray.from_arrays(offsets, each)
        public = pa.nulls(len(rows), pa.list_(pa.float32()))
        if ratios is not None:
            told = pa.array(ratios.public_of(examples))
            public = pa.ListArray.from_arrays(offsets, told, mask=pa.array(hidden))
        return {
            "sequence": words,
            "contexts": contexts,
            "context_lengths": lists(offsets, members.starts[examples]),
            "perplexities": lists(offsets, members.perplexities[examples]),
            "public_perplexities": public,
        }

    def _closer_look(self, rows: LongArray) -> dict[str, pa.Array]:
        """What is known of unique sequences only; null elsewhere and where it was not measured."""
        findings, sequences = self.findings, self.counted.sequences
        size, hidden = len(sequences), ~sequences.unique[rows]
        least, exact = (each[rows] for each in findings.least_of(size))
        tried, brought = (each[rows] for each in findings.elsewhere_of(size))
        ratio = pa.nulls(len(rows), pa.float32())
        if findings.ratios is not None:
            ratio = pa.array(findings.ratios.of_sequence[rows], mask=hidden)
        q_value = pa.nulls(len(rows), pa.float64())
        if findings.chance.value is not None:
            q_value = pa.array(findings.chance.value.q_values[rows], mask=hidden)
        public = pa.nulls(len(rows), pa.bool_())
        if findings.public_predicts is not None:
            public = pa.array(findings.public_predicts[rows], mask=hidden)
        return {
            "ratio": ratio,
            "q_value": q_value,
            "public_predicts": public,
            "least_context": pa.array(least, mask=least < 0),
            "least_context_exact": pa.array(exact, mask=least < 0),
            "elsewhere_tried": pa.array(tried, mask=tried < 0),
            "elsewhere_out": pa.array(brought, mask=tried < 0),
            "pii": self._kinds(rows),
        }

    def _kinds(self, rows: LongArray) -> pa.Array:
        tags, unique = self.findings.tags, self.counted.sequences.unique
        if tags is None:
            return pa.nulls(len(rows), pa.list_(pa.string()))
        listed = [list(tags.get(row, ())) if unique[row] else None for row in rows.tolist()]
        return pa.array(listed, pa.list_(pa.string()))
