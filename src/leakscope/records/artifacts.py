"""How artifacts reach the disk and are read again: private to their owner, whole or not at all, and
held to their seals (see `seal`).
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from leakscope.records.errors import LeakscopeError
from leakscope.records.seal import (
    MOST_BYTES,
    OWN,
    SEAL,
    digest_of_bytes,
    parsed_seal,
    render_seal,
    seals_of,
)

Model = TypeVar("Model", bound=BaseModel)
_PARTIAL = re.compile(r"\..+\.\d+-[0-9a-f]{8}\.leakscope", re.DOTALL)


def private_directory(path: Path) -> Path:
    """Make `path` (and its parents) if need be, readable by its owner only."""
    for missing in [each for each in path.parents if not each.exists()][::-1]:
        missing.mkdir(mode=0o700, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    path.chmod(0o700)
    return path


def already(path: Path) -> LeakscopeError:
    """The error for an output that would overwrite something."""
    return LeakscopeError(f"{path} already exists; choose another --out or remove it first.")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that becomes `path` when the block ends well, 0600."""
    partial = partial_name(path)
    partial.touch(mode=0o600, exist_ok=False)
    try:
        yield partial
        partial.chmod(0o600)
        with partial.open("rb") as handle:
            os.fsync(handle.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def partial_name(path: Path) -> Path:
    """A new name beside `path` for what is to become it; `is_partial` knows it."""
    return path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.leakscope")


def is_partial(path: Path) -> bool:
    """Whether `path` is a file that `whole_file` had begun, by its name."""
    return _PARTIAL.fullmatch(path.name) is not None and path.is_file()


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8, whole or not at all."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, value: BaseModel | dict[str, Any]) -> None:
    """Write a record as indented JSON; NaN and infinity are refused."""
    write_text(path, _json_text(value))


def _json_text(value: BaseModel | dict[str, Any]) -> str:
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_sealed(path: Path, record: BaseModel | dict[str, Any], beside: Iterable[str]) -> None:
    """Write the record that makes a directory complete, as one that has a seal: it says so itself,
    and the seal has it and the files `beside` it. The seal comes first, so the record never lacks
    it.
    """
    said = (
        {**record, "sealed": True}
        if isinstance(record, dict)
        else record.model_copy(update={"sealed": True})
    )
    text = _json_text(said)
    files = {name: digest_of_file(path.parent / name) for name in beside}
    files[path.name] = digest_of_bytes(text.encode())
    write_text(path.parent / SEAL, render_seal(files))
    write_text(path, text)


def seal_files(folder: Path, names: Iterable[str]) -> None:
    """Put files that are there into the directory's seal, which is made if there is none."""
    files = {name: digest_of_file(folder / name) for name in names}
    write_text(folder / SEAL, render_seal({**(read_seal(folder / SEAL) or {}), **files}))


def read_seal(path: Path) -> Mapping[str, str] | None:
    """The digests of a seal, by the names of files; None if there is no seal."""
    try:
        with path.open("rb") as handle:
            content = handle.read(MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        raise damaged(path) from None
    found = parsed_seal(content)
    if found is None:
        raise damaged(path)
    return found


def sealed_digest(path: Path) -> str | None:
    """What the digest of a file must be; None if no seal has it, as in earlier versions."""
    for place, name in seals_of(path):
        known = read_seal(place)
        if known is not None and name in known:
            return known[name]
    return None


def checked_digest(path: Path) -> str:
    """The digest of a file; raise if its seal says another."""
    wanted = sealed_digest(path)
    try:
        found = digest_of_file(path)
    except FileNotFoundError:
        if wanted is None:
            raise
        raise missing(path) from None
    except OSError:  # such as links in a circle
        if wanted is None:
            raise
        raise damaged(path) from None
    if wanted not in (None, found):
        raise damaged(path)
    return found


def check(path: Path) -> None:
    """Raise if a file is not what its seal says, or is missing though it is sealed. One without a
    seal is as it is.
    """
    if sealed_digest(path) is not None:
        checked_digest(path)


def checked_bytes(path: Path) -> bytes:
    """The content of a small file; raise if its seal says that it was another."""
    content = path.read_bytes()
    if sealed_digest(path) not in (None, digest_of_bytes(content)):
        raise damaged(path)
    return content


def is_intact(path: Path) -> bool:
    """Whether a file is there, has a seal and is what that says."""
    try:
        return sealed_digest(path) is not None and checked_digest(path) is not None
    except LeakscopeError:
        return False


def read_json(path: Path, model: type[Model], what: str) -> Model:
    """Read the record `model` from `path`; `what` names the artifact in the error. One that says
    that it is sealed must have a seal beside it.
    """
    try:
        found = model.model_validate_json(checked_bytes(path))
    except FileNotFoundError:
        raise LeakscopeError(f"{path.parent} is not {what}: it has no {path.name}.") from None
    except (ValidationError, UnicodeDecodeError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else {"msg": "not UTF-8"}
        where = ".".join(str(part) for part in first.get("loc", ())) or "the file"
        raise LeakscopeError(
            f"{path} cannot be read as {what} of this version: {where}: {first['msg']}."
        ) from None
    if getattr(found, "sealed", False) and not (path.parent / SEAL).exists():
        raise missing(path.parent / SEAL)
    return found


@contextmanager
def parquet_sink(
    path: Path,
    schema: pa.Schema,
    *,
    sealed: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Iterator[pq.ParquetWriter]:
    """A Parquet writer with page checksums whose file appears only when it is complete; `sealed`:
    with a seal of its own, which is there before it. `options` are the writer's.
    """
    with whole_file(path) as partial:
        with pq.ParquetWriter(
            partial, schema, compression="zstd", write_page_checksum=True, **(options or {})
        ) as writer:
            yield writer
        if sealed:
            own = path.with_name(path.name + OWN)
            write_text(own, render_seal({path.name: digest_of_file(partial)}))


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write one table in a piece."""
    with parquet_sink(path, table.schema) as writer:
        writer.write_table(table)


_UNREADABLE = (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError)
"""What pyarrow raises on a damaged footer or page."""


def open_parquet(path: Path, *, checked: bool = False) -> pq.ParquetFile:
    """Open a Parquet file of ours, memory-mapped, its pages checked against their checksums; the
    whole file is held to its seal first, unless that was `checked` already.
    """
    if not checked:
        check(path)
    try:
        return pq.ParquetFile(path, memory_map=True, page_checksum_verification=True)
    except FileNotFoundError:
        raise missing(path) from None
    except _UNREADABLE:
        raise damaged(path) from None


def damaged(path: Path) -> LeakscopeError:
    """The error for a file that is cut short or fails its checksums."""
    return LeakscopeError(f"{path} is truncated or damaged; make the artifact again.")


def missing(path: Path) -> LeakscopeError:
    """The error for a file that must be there."""
    return LeakscopeError(f"{path} is missing; make the artifact again.")


def read_parquet(
    path: Path, columns: list[str] | None = None, *, checked: bool = False
) -> pa.Table:
    """Read a whole Parquet file of ours; `checked`: see `open_parquet`."""
    try:
        return open_parquet(path, checked=checked).read(columns=columns)
    except _UNREADABLE:
        raise damaged(path) from None


def parquet_groups(path: Path) -> Iterator[pa.Table]:
    """The row groups of a Parquet file of ours, one after the other."""
    with open_parquet(path) as reader:
        for group in range(reader.num_row_groups):
            try:
                table = reader.read_row_group(group)
            except _UNREADABLE:
                raise damaged(path) from None
            yield table


def digest_of(value: Any) -> str:
    """A hexadecimal digest of plain data, the same for equal JSON."""
    plain = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.blake2b(plain.encode(), digest_size=16).hexdigest()


def digest_of_file(path: Path) -> str:
    """A hexadecimal digest of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def digest_of_columns(*columns: NDArray[np.generic], texts: Sequence[str] = ()) -> str:
    """Of numbers, in their order, and of texts."""
    found = hashlib.blake2b(digest_size=16)
    for values in columns:
        found.update(f"{values.dtype.str} {len(values)}\n".encode())
        found.update(np.ascontiguousarray(values).tobytes())
    for text in texts:
        spelled = text.encode("utf-8", "surrogatepass")
        found.update(f"{len(spelled)}\n".encode())
        found.update(spelled)
    return found.hexdigest()
