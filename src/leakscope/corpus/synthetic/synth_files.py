"""Writes the synthetic corpus and its known answers to a directory."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from leakscope.corpus.synthetic.generate import documents, truth
from leakscope.corpus.synthetic.synth_settings import SynthSettings
from leakscope.corpus.words import words
from leakscope.records.artifacts import parquet_sink
from leakscope.records.output_claim import claimed

DATA, TRUTH = "data.parquet", "truth.parquet"
ROW_GROUP = 50_000


@dataclass(frozen=True)
class SynthSummary:
    """What was written; `planted` counts the rows of truth.parquet."""

    users: int
    documents: int
    words: int
    planted: int


def _write(path: Path, schema: pa.Schema, batches: Iterable[list[dict[str, Any]]]) -> None:
    """Write each batch as a row group of the new file `path`."""
    with parquet_sink(path, schema) as writer:
        for batch in batches:
            writer.write_table(pa.Table.from_pylist(batch, schema), row_group_size=ROW_GROUP)


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := list(islice(rows, ROW_GROUP)):
        yield batch


def synth(
    out: str | Path, settings: SynthSettings, progress: Callable[[int], None] | None = None
) -> SynthSummary:
    """Write data.parquet (user, text) and truth.parquet (see Truth) to the new directory `out`.

    Only the owner can read them. `progress` gets the number of words so far, per row group.
    """
    out = Path(out)
    total = {"documents": 0, "words": 0, "planted": 0}

    def data() -> Iterator[list[dict[str, Any]]]:
        for batch in _batches({"user": row.user, "text": row.text} for row in documents(settings)):
            total["documents"] += len(batch)
            total["words"] += sum(len(words(row["text"])) for row in batch)
            yield batch
            if progress is not None:
                progress(total["words"])

    def planted() -> Iterator[list[dict[str, Any]]]:
        for batch in _batches(asdict(item) for item in truth(settings)):
            total["planted"] += len(batch)
            yield batch

    string, strings = pa.string(), pa.list_(pa.string())
    text = pa.schema([("user", string), ("text", string)])
    answers = pa.schema(
        [
            ("kind", string),
            ("text", string),
            ("words", strings),
            ("owners", strings),
            ("repetitions", pa.list_(pa.int64())),
            ("prefix", strings),
        ]
    )
    # The truth comes first: data.parquet, when it is there, is complete and has its answers.
    with claimed(out, "corpus synth") as claim:
        claim.clear((TRUTH,))
        _write(out / TRUTH, answers, planted())
        try:
            _write(out / DATA, text, data())
        except BaseException:
            (out / TRUTH).unlink()
            raise
    return SynthSummary(users=settings.population, **total)
