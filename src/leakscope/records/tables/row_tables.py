"""Tables of results: a row for each record, a column for each of its fields."""

import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

import pyarrow as pa
from pydantic import BaseModel

from leakscope.records.artifacts import write_parquet

_TYPES = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.large_string()}


def write_rows(path: Path, rows: Sequence[BaseModel], record: type[BaseModel]) -> None:
    """Write the rows, which are of one record."""
    schema = pa.schema(
        [(name, _column(field.annotation)) for name, field in record.model_fields.items()]
    )
    table = pa.Table.from_pylist([row.model_dump() for row in rows], schema=schema)
    write_parquet(path, table)


def _column(hint: Any) -> pa.DataType:
    if get_origin(hint) is types.UnionType:
        (hint,) = (each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is list:
        return pa.large_list(_column(get_args(hint)[0]))
    return _TYPES[hint]
