"""Parquet and Arrow: columns of every type, also those that are no users or texts."""

import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from trials.odd_rows.batch import Batch, OddRow
from trials.odd_rows.expected import ASIDE, EITHER, Expected, of_values
from trials.odd_rows.values import drawn_name, drawn_text

BAD_BYTES = (b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"ok\x80")
STRINGS = ("string", "large_string", "string_view", "binary", "large_binary", "dictionary")
NUMBERS: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    "int8": (pa.int8(), lambda draw: draw.randrange(-128, 128)),
    "int64": (pa.int64(), lambda draw: draw.choice((0, -1, 2**63 - 1, -(2**63)))),
    "uint64": (pa.uint64(), lambda draw: draw.choice((0, 2**64 - 1))),
    "float64": (pa.float64(), lambda draw: draw.choice((0.5, 1.0, -0.0, 1e300, float("inf")))),
    "decimal": (pa.decimal128(30, 2), lambda draw: Decimal(draw.randrange(10**9)) / 100),
}
FAR: dict[str, pa.DataType] = {
    "timestamp s": pa.timestamp("s"),
    "timestamp ns": pa.timestamp("ns", tz="UTC"),
    "date64": pa.date64(),
    "duration": pa.duration("us"),
    "time64": pa.time64("us"),
}
NESTED: dict[str, tuple[pa.DataType, Any]] = {
    "list": (pa.list_(pa.string()), ["a", None]),
    "struct": (pa.struct([("user", pa.string())]), {"user": "a"}),
    "map": (pa.map_(pa.string(), pa.int8()), [("a", 1)]),
    "fixed list": (pa.list_(pa.float32(), 2), [0.0, 1.0]),
}


def parquet(draw: random.Random, rows: int) -> Batch:
    """A Parquet file; the columns that are read have types of a drawn kind."""
    found, table = _table(draw, rows, views=False)

    def write(folder: Path) -> Path:
        size = draw.choice((1, 7, 1000))
        path = folder / "odd.parquet"
        compression = draw.choice(("none", "zstd", "snappy"))
        pq.write_table(table, path, row_group_size=size, compression=compression)
        return path

    return Batch("parquet", found, write)


def arrow(draw: random.Random, rows: int) -> Batch:
    """An Arrow file or stream, in batches of any size."""
    found, table = _table(draw, rows, views=True)

    def write(folder: Path) -> Path:
        make = draw.choice((pa.ipc.new_file, pa.ipc.new_stream))
        path = folder / "odd.arrow"
        with make(str(path), table.schema) as writer:
            writer.write_table(table.slice(0, 0))
            writer.write_table(table, max_chunksize=draw.choice((1, 5, 1000)))
        return path

    return Batch("arrow", found, write)


def _table(draw: random.Random, rows: int, *, views: bool) -> tuple[list[OddRow], pa.Table]:
    users, user_values = _users(draw, rows, views)
    texts, text_values = _texts(draw, rows, views)
    found = []
    for place, (user, text) in enumerate(zip(user_values, text_values, strict=True)):
        name = f"row {place}: {users.type} and {texts.type}"
        found.append(OddRow(name, _expected(user, text)))
    return found, pa.table({"user": users, "n": list(range(rows)), "text": texts})


def _expected(user: object, text: object) -> Expected:
    if user is EITHER and isinstance(text, str) and text.strip():
        return EITHER
    if user in (ASIDE, EITHER) or text is ASIDE:
        return ASIDE
    return of_values(user, text)


def _users(draw: random.Random, rows: int, views: bool) -> tuple[Any, list[object]]:
    kind = draw.random()
    if kind < 0.55:
        return _strings(draw, [drawn_name(draw, place) for place in range(rows)], views)
    if kind < 0.8:
        type_, value = draw.choice(list(NUMBERS.values()))
        values = [None if draw.random() < 0.1 else value(draw) for _ in range(rows)]
        if pa.types.is_floating(type_):
            values[0] = float("nan")
        column = pa.array(values, type_)
        return column, column.to_pylist()
    if kind < 0.85:
        return pa.array([draw.random() < 0.5 for _ in range(rows)]), [EITHER] * rows
    return _no_strings(draw, rows)


def _texts(draw: random.Random, rows: int, views: bool) -> tuple[Any, list[object]]:
    if draw.random() < 0.85:
        return _strings(draw, [drawn_text(draw, place) for place in range(rows)], views)
    return _no_strings(draw, rows)


def _no_strings(draw: random.Random, rows: int) -> tuple[Any, list[object]]:
    """A column of far dates, of lists and the like, or of nothing."""
    kind = draw.random()
    if kind < 0.5:
        type_ = draw.choice(list(FAR.values()))
        numbers = [draw.choice((2**62, -(2**62), 0, None)) for _ in range(rows)]
        if pa.types.is_date64(type_) or pa.types.is_time64(type_):
            numbers = [None if each is None else 86_400_000 for each in numbers]
        return pa.array(numbers, pa.int64()).cast(type_), [ASIDE] * rows
    if kind < 0.9:
        type_, value = draw.choice(list(NESTED.values()))
        return pa.array([value, None] * rows, type_)[:rows], [ASIDE] * rows
    return pa.nulls(rows), [ASIDE] * rows


def _strings(draw: random.Random, values: list[str], views: bool) -> tuple[Any, list[object]]:
    """Strings of a drawn type, some null, some of bytes that are not UTF-8."""
    raw: list[bytes | None] = [value.encode() for value in values]
    said: list[object] = list(values)
    for place in range(len(values)):
        kind = draw.random()
        if kind < 0.06:
            raw[place], said[place] = None, None
        elif kind < 0.14:
            raw[place], said[place] = draw.choice(BAD_BYTES), ASIDE
    name = draw.choice([each for each in STRINGS if views or each != "string_view"])
    if name in ("large_string", "large_binary"):
        column = pa.array(raw, pa.large_binary())
    else:
        column = pa.array(raw, pa.binary())
    if name == "large_string":
        column = column.view(pa.large_string())
    elif name in ("string", "dictionary", "string_view"):
        column = column.view(pa.string())
    if name == "dictionary":
        column = column.dictionary_encode()
    elif name == "string_view":
        column = column.cast(pa.string_view())
    return column, said
