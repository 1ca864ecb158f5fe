"""Put Parquet files of one schema together without decoding them: the bytes of their row groups one
after the other, and one footer, in which the places of all pages are moved. What comes out is, byte
for byte, what one writer would have written that was given the same row groups.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from leakscope.records.artifacts import damaged, missing, sealed_digest, whole_file
from leakscope.records.tables.compact_thrift import (
    LIST,
    STRUCT,
    Elements,
    Struct,
    Value,
    decoded,
    encoded,
)

MAGIC = b"PAR1"
_COPIED_AT_ONCE = 1 << 20
_MOST_ORDINAL = (1 << 15) - 1

# Field numbers, as in parquet.thrift.
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_CHUNKS, _GROUP_OFFSET, _GROUP_ORDINAL = 1, 5, 7
_CHUNK_OFFSET, _CHUNK_METADATA, _CHUNK_ELSEWHERE = 2, 3, (1, 4, 6, 8, 9)
_PAGE_OFFSETS, _BLOOM_FILTER = (9, 10, 11), 14


def join_parquet(parts: Sequence[Path], target: Path) -> None:
    """Write all row groups of `parts`, each with a seal of its own, into `target`, which appears
    when it is complete. Raise if a part is not what its seal says.
    """
    first: Struct | None = None
    rows, groups = 0, list[bytes]()
    with whole_file(target) as partial, partial.open("wb") as out:
        out.write(MAGIC)
        for part in parts:
            moved = out.tell() - len(MAGIC)
            footer = _copied(part, out)
            first = first or footer
            if _said_of_file(footer) != _said_of_file(first):
                raise ValueError("only files of one schema and one writer can be joined")
            rows += footer[_FILE_ROWS].content
            for group in footer[_FILE_GROUPS].content.contents:
                groups.append(encoded(_moved_group(group, moved, len(groups))))
        if first is None:
            raise ValueError("there is nothing to join")
        first[_FILE_ROWS] = Value(first[_FILE_ROWS].kind, rows)
        first[_FILE_GROUPS] = Value(LIST, Elements(STRUCT, groups))
        content = encoded(first)
        out.write(content + len(content).to_bytes(4, "little") + MAGIC)


def _copied(part: Path, out: BinaryIO) -> Struct:
    """Copy the row groups of a part, and give its footer, if all of it is what its seal says."""
    wanted, digest = sealed_digest(part), hashlib.blake2b(digest_size=16)
    try:
        with part.open("rb") as source:
            source.seek(-8, 2)
            end = source.tell() - int.from_bytes(source.read(4), "little")
            source.seek(0)
            digest.update(source.read(len(MAGIC)))
            while source.tell() < end:
                some = source.read(min(_COPIED_AT_ONCE, end - source.tell()))
                digest.update(some)
                out.write(some)
            last = source.read()
    except FileNotFoundError:
        raise missing(part) from None
    except (OSError, ValueError):  # it is shorter than a file can be
        raise damaged(part) from None
    digest.update(last)
    if digest.hexdigest() != wanted:
        raise damaged(part)
    return decoded(last[:-8])


def _said_of_file(footer: Struct) -> Struct:
    """All but the row groups: the schema, the writer, what it noted."""
    return {n: value for n, value in footer.items() if n not in (_FILE_ROWS, _FILE_GROUPS)}


def _moved_group(group: Struct, by: int, ordinal: int) -> Struct:
    for chunk in group[_GROUP_CHUNKS].content.contents:
        pages = chunk[_CHUNK_METADATA].content
        if any(field in chunk for field in _CHUNK_ELSEWHERE) or _BLOOM_FILTER in pages:
            raise ValueError("indexes, filters, encryption and other files cannot be joined")
        _move(chunk, _CHUNK_OFFSET, by)
        for field in _PAGE_OFFSETS:
            _move(pages, field, by)
    _move(group, _GROUP_OFFSET, by)
    if _GROUP_ORDINAL in group:
        group[_GROUP_ORDINAL] = Value(group[_GROUP_ORDINAL].kind, ordinal)
        if ordinal > _MOST_ORDINAL:  # it has 16 bits, and need not be there
            del group[_GROUP_ORDINAL]
    return group


def _move(fields: Struct, number: int, by: int) -> None:
    """Move a place in the file, if it is told: no page begins at 0."""
    if number in fields and fields[number].content:
        fields[number] = Value(fields[number].kind, fields[number].content + by)
