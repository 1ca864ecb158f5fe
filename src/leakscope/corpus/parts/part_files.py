"""Parts: Arrow files that a build keeps until it is finished, each with a seal of its own.

A part is named after the digest of all that it is made from. One that is found again is used if it
is, byte for byte, what was written; otherwise it is made again.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from leakscope.records.artifacts import digest_of_file, partial_name
from leakscope.records.seal import OWN, render_seal

SUFFIX = ".arrow"
_NOTE = b"leakscope"


@contextmanager
def part_sink(path: Path, schema: pa.Schema) -> Iterator[Callable[..., None]]:
    """A function that writes a record batch, and plain data as its `note`, into the part `path`.
    The part and its seal appear when the block ends well.
    """
    with _unsynced(path) as partial:
        with pa.OSFile(str(partial), "wb") as file, pa.ipc.new_file(file, schema) as writer:

            def write(batch: pa.RecordBatch, note: Any = None) -> None:
                writer.write_batch(batch, custom_metadata={_NOTE: json.dumps(note).encode()})

            yield write
        seal = render_seal({path.name: digest_of_file(partial)})
        with _unsynced(path.with_name(path.name + OWN)) as own:
            own.write_text(seal, encoding="utf-8")


@contextmanager
def _unsynced(path: Path) -> Iterator[Path]:
    """`whole_file` that does not wait for the disk: a part that a power cut tears does not match
    its seal, and is made again.
    """
    partial = partial_name(path)
    partial.touch(mode=0o600, exist_ok=False)
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def opened_part(path: Path) -> Iterator[list[tuple[pa.RecordBatch, Any]]]:
    """The record batches of a part with their notes, mapped into memory while the block runs."""
    with pa.memory_map(str(path)) as source:
        reader = pa.ipc.open_file(source)
        found = [
            reader.get_batch_with_custom_metadata(number)
            for number in range(reader.num_record_batches)
        ]
        yield [(each.batch, json.loads(each.custom_metadata[_NOTE])) for each in found]


def notes_of(path: Path) -> list[Any]:
    """The notes of a part's record batches."""
    with opened_part(path) as batches:
        return [note for _, note in batches]
