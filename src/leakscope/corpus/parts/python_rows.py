"""Rows that Python has read, one by one, as columns."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.parts.row_columns import SPLITS, UNDECIDED, ReadTally
from leakscope.corpus.readers.rows import (
    EMPTY_TEXT,
    INVALID_UTF8,
    NULL_USER,
    TOO_LONG,
    UNKNOWN_SPLIT,
    Row,
)
from leakscope.corpus.split import split_named
from leakscope.records.documents import LongArray


def row_problem(row: Row, settings: BuildSettings) -> str | None:
    """Why a row cannot be a document; None: it can."""
    if row.user is None or not row.user.strip():
        return NULL_USER
    if row.text is None or not row.text.strip():
        return EMPTY_TEXT
    if not row.accepted and len(row.text) > settings.max_characters:
        return TOO_LONG
    if row.split is not None and split_named(row.split) is None:
        return UNKNOWN_SPLIT
    try:
        (row.user + row.text).encode()
    except UnicodeEncodeError:
        return INVALID_UTF8
    return None


def usable_rows(
    rows: Sequence[Row], numbers: LongArray | None, settings: BuildSettings, tally: ReadTally
) -> pa.RecordBatch:
    """The rows that can be used, as `row_columns.usable` gives them; with their inputs, if they
    have no `numbers` but origins.
    """
    kept = []
    for place, row in enumerate(rows):
        problem = row.problem or row_problem(row, settings)
        if problem is not None or row.user is None or row.text is None:
            tally.aside[problem or EMPTY_TEXT] += 1
            continue
        tally.doubts.update(row.doubts)
        tally.known &= not row.accepted
        part = None if row.split is None else split_named(row.split)
        code = UNDECIDED if part is None else SPLITS.index(part)
        input, number = row.origin or (None, None)
        number = number if numbers is None else int(numbers[place])
        kept.append((row.user, row.text, code, len(row.text), number, input))
    found = [list(values) for values in zip(*kept, strict=True)] or [[]] * 6
    columns = {
        "user": pa.array(found[0], pa.large_string()).cast(pa.large_binary()),
        "text": pa.array(found[1], pa.large_string()).cast(pa.large_binary()),
        "split": pa.array(found[2], pa.int8()),
        "characters": pa.array(found[3], pa.int64()),
        "row": pa.array(found[4], pa.int64()),
    }
    if numbers is None:
        columns["input"] = pa.array(found[5], pa.int32())
    return pa.RecordBatch.from_pydict(columns)


def merged(first: pa.RecordBatch, second: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of both, ordered by their numbers."""
    if not second.num_rows:
        return first
    both = pa.concat_batches([first, second])
    return both.take(pa.array(np.argsort(both["row"].to_numpy(), kind="stable")))
