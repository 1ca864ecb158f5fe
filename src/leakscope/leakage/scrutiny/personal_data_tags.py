"""Which unique sequences look like personal data: the patterns of `corpus.personal_data`,
applied to the documents that the sequences came from, some of them at a time: a stage.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.corpus.personal_data.text_windows import Text
from leakscope.corpus.personal_data.words_found import kinds_shown
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.engine.stages import Engine, Work
from leakscope.leakage.scrutiny.public_surprise import AskedOccurrences
from leakscope.leakage.sequences.distinct import Sequences
from leakscope.leakage.sequences.documents_by_number import (
    documents_holding,
    shards_holding,
)
from leakscope.leakage.sequences.members import Members
from leakscope.leakage.sequences.texts_by_number import texts_numbered
from leakscope.records.artifacts import (
    damaged,
    digest_of,
    digest_of_columns,
    is_intact,
    parquet_sink,
    read_parquet,
)
from leakscope.records.documents import LongArray

STAGE = "personal-data"
_SCHEMA = pa.schema([("occurrence", pa.int32()), ("kind", pa.string())])
"""What an occurrence shows a word of; occurrences are counted from the first of the group."""


@dataclass(frozen=True)
class PersonalDataStage:
    """The `engine` stage: output i is about the occurrences from groups[i][0] to groups[i][1]."""

    corpus: Path
    training: str
    """See `Corpus.training`."""
    groups: tuple[tuple[int, int], ...]
    asked: AskedOccurrences
    phone_region: str | None
    name: str = STAGE

    def start(self) -> Work:
        """Open the corpus."""
        shards = Corpus.open(self.corpus).trained_on(self.training).shards

        def work(index: int, target: Path) -> None:
            asked = self.asked.part(*self.groups[index])
            found = _kinds_of(texts_numbered(shards, asked.documents), asked, self.phone_region)
            columns = [pa.array([row for row, _ in found]), pa.array([kind for _, kind in found])]
            with parquet_sink(target, _SCHEMA, sealed=True) as writer:
                casts = [c.cast(f.type) for c, f in zip(columns, _SCHEMA, strict=True)]
                writer.write_batch(pa.record_batch(casts, schema=_SCHEMA))

        return work


def personal_data(
    corpus: Corpus,
    members: Members,
    sequences: Sequences,
    chosen: LongArray,
    phone_region: str | None,
    engine: Engine,
    work: Path,
    progress: Progress = silent,
) -> dict[int, tuple[str, ...]]:
    """The kinds of personal data that the occurrences `chosen` (rising) show a word of, by the
    sequence's row.
    """
    asked = AskedOccurrences.of(members, chosen)
    groups = tuple(
        (int(rows[0]), int(rows[-1]) + 1)
        for _, rows in documents_holding(corpus.documents(), asked.documents)
    )
    outputs = engine.map(
        PersonalDataStage(corpus.path, corpus.training, groups, asked, phone_region),
        [_key(corpus, asked.part(*group), phone_region) for group in groups],
        work,
        sizes=[high - low for low, high in groups],
        unit="occurrences",
        keep=is_intact,
        progress=progress,
    )
    found: dict[int, set[str]] = defaultdict(set)
    for path, (low, high) in zip(outputs, groups, strict=True):
        rows = read_parquet(path)
        if rows.schema != _SCHEMA:
            raise damaged(path)
        for place, kind in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            if place is None or kind is None or not 0 <= place < high - low:
                raise damaged(path)
            found[int(sequences.of_member[chosen[low + place]])].add(kind)
    return {row: tuple(sorted(kinds)) for row, kinds in sorted(found.items())}


def _key(corpus: Corpus, asked: AskedOccurrences, phone_region: str | None) -> str:
    shards = shards_holding(corpus.shards, asked.documents)
    return digest_of(
        {
            "occurrences": digest_of_columns(asked.documents, asked.starts, asked.lengths),
            "shards": [shard.digest for shard in shards],
            "trained_on": corpus.training,
            "phone_region": phone_region,
            "versions": [version(name) for name in ("leakscope", "phonenumbers", "python-stdnum")],
            "characters": unicodedata.unidata_version,
        }
    )


def _kinds_of(
    texts: Iterable[tuple[int, Text]], asked: AskedOccurrences, phone_region: str | None
) -> list[tuple[int, str]]:
    """(occurrence, kind), each once, rising; `texts` has the numbered documents that are asked."""
    found: set[tuple[int, str]] = set()
    starts, stops = asked.starts, np.add(asked.starts, asked.lengths)
    for number, text in texts:
        low, high = np.searchsorted(asked.documents, [number, number + 1])
        shown = kinds_shown(text, starts[low:high], stops[low:high], phone_region)
        found |= {(int(low) + row, kind) for row, kind in shown}
    return sorted(found)
