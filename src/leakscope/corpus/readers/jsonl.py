"""JSON Lines, plain or compressed."""

import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from leakscope.corpus.readers.byte_lines import lines
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.row_values import require_columns, row_of, wanted_columns
from leakscope.corpus.readers.rows import INVALID_UTF8, MALFORMED, TOO_LONG, Row


def read_jsonl(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a row for each line of a JSONL file (.gz and .zst too); blank lines are skipped."""
    first, columns = True, wanted_columns(settings)
    for record in objects(path):
        if isinstance(record, Row):
            yield record
            continue
        if first:
            require_columns(path, list(record), settings)
            first = False
        yield row_of(*(record.get(column) for column in columns))


def objects(path: Path) -> Generator[dict[str, Any] | Row, None, None]:
    """Yield the JSON object of each line, or the row that says why a line holds none."""
    for line in lines(path):
        if line is None:
            yield Row(None, None, TOO_LONG)
        elif line.strip():
            yield parsed(line)


def parsed(line: bytes) -> dict[str, Any] | Row:
    """Return the JSON object of a line, or the row that says why it holds none."""
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError:
        return Row(None, None, INVALID_UTF8)
    except (ValueError, RecursionError):  # not JSON, a number of too many digits, nested too deep
        return Row(None, None, MALFORMED)
    return value if isinstance(value, dict) else Row(None, None, MALFORMED)
