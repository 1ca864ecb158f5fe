"""The trial of odd rows: batches of all formats in turn."""

import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from trials.odd_rows.batch import Batch, judged
from trials.odd_rows.commit_rows import commits
from trials.odd_rows.csv_rows import csv_file
from trials.odd_rows.json_rows import jsonl, reddit
from trials.odd_rows.letter_rows import maildir, mbox
from trials.odd_rows.table_rows import arrow, parquet
from trials.outcomes import Outcome

COUNT = 1_440
ROWS = 20
"""Of one file."""
FORMATS: tuple[Callable[[random.Random, int], Batch], ...] = (
    jsonl, csv_file, parquet, arrow, mbox, maildir, reddit, commits,
)  # fmt: skip


def odd_rows(seed: int, count: int = COUNT) -> Iterator[Outcome]:
    """At least `count` rows, in files of at most 20."""
    draw = random.Random(seed)
    rows = min(ROWS, -(-count // len(FORMATS)))
    for number in range(-(-count // rows)):
        batch = FORMATS[number % len(FORMATS)](draw, rows)
        with tempfile.TemporaryDirectory(prefix="trial-rows-") as folder:
            yield from judged(batch, Path(folder))
