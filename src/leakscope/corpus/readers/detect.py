"""Which reader an input needs, told from its name or layout."""

import os
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from leakscope.corpus.readers.gitlog import read_git
from leakscope.corpus.readers.jsonl import objects, read_jsonl
from leakscope.corpus.readers.mail import read_maildir, read_mbox
from leakscope.corpus.readers.received_repository import git_folder
from leakscope.corpus.readers.reddit import read_reddit
from leakscope.corpus.readers.rows import Columns, Row, RowReader
from leakscope.records.errors import LeakscopeError

JSON_SUFFIXES = (".jsonl", ".ndjson", ".json")
FORMAT_OF_SUFFIX = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".mbox": "mbox",
    ".mbx": "mbox",
}
# Formats that are read through compression; the others have their own.
COMPRESSIBLE = ("csv", "mbox")
DATASET_FILES = ("dataset_dict.json", "state.json", "dataset_info.json")


def _read_csv(path: Path, columns: Columns) -> Iterator[Row]:
    """Read CSV; the import waits, as in the two below, because pyarrow is slow to load."""
    from leakscope.corpus.readers.table import read_csv  # noqa: PLC0415

    return read_csv(path, columns)


def _read_parquet(path: Path, columns: Columns) -> Iterator[Row]:
    from leakscope.corpus.readers.table import read_parquet  # noqa: PLC0415

    return read_parquet(path, columns)


def _read_arrow(path: Path, columns: Columns) -> Iterator[Row]:
    from leakscope.corpus.readers.table import read_arrow  # noqa: PLC0415

    return read_arrow(path, columns)


FORMATS: dict[str, RowReader] = {
    "jsonl": read_jsonl,
    "csv": _read_csv,
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "mbox": read_mbox,
    "maildir": read_maildir,
    "reddit": read_reddit,
    "git": read_git,
}


def read(path: Path, columns: Columns, format: str | None = None) -> Iterator[Row]:
    """Return the rows of a file or folder; without a `format`, its name or layout tells it.

    The path and the format are checked at once, the content as the rows are drawn.
    """
    if not path.exists():
        raise LeakscopeError(f"{path} does not exist: check the path.")
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise LeakscopeError(f"{path} is not readable: change its permissions.")
    name = detect(path) if format is None else format
    if name not in FORMATS:
        raise LeakscopeError(f'There is no format "{name}": choose one of {", ".join(FORMATS)}.')
    return FORMATS[name](path, columns)


def detect(path: Path) -> str:
    """Return the name of the format of a file or folder; raise LeakscopeError if it is unclear."""
    found = _of_folder(path) if path.is_dir() else _of_file(path)
    if found is None:
        raise LeakscopeError(
            f"The format of {path} is unclear: give --format with one of {', '.join(FORMATS)}."
        )
    return found


def _of_folder(path: Path) -> str | None:
    if any((path / name).is_file() for name in DATASET_FILES):
        return "arrow"
    if (path / "cur").is_dir() and (path / "new").is_dir():
        return "maildir"
    try:
        git_folder(path)
    except LeakscopeError:
        pass
    else:
        return "git"
    suffixes = {_inner_suffix(file) for file in path.iterdir() if not file.name.startswith(".")}
    if suffixes and suffixes <= {*JSON_SUFFIXES, *FORMAT_OF_SUFFIX}:
        raise LeakscopeError(f"{path} is a folder of data files: name the files themselves.")
    return None


def _of_file(path: Path) -> str | None:
    compressed = path.suffix.lower() in (".gz", ".zst")
    suffix = _inner_suffix(path)
    if suffix in FORMAT_OF_SUFFIX:
        name = FORMAT_OF_SUFFIX[suffix]
        return name if name in COMPRESSIBLE or not compressed else None
    if suffix not in (*JSON_SUFFIXES, ""):
        return None
    if path.name.startswith(("RC_", "RS_")):
        return "reddit"
    if suffix == "" and not compressed:
        return None
    # Dumps of one subreddit are called name_comments.zst, so their content has to tell.
    record = _first_object(path)
    if record is None:
        return "jsonl" if suffix else None
    is_post = "author" in record and ("body" in record or "selftext" in record)
    return "reddit" if is_post and not {"user", "text"} & record.keys() else "jsonl"


def _inner_suffix(path: Path) -> str:
    """Return the suffix in lower case, looking below .gz and .zst."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in (".gz", ".zst") else suffix


def _first_object(path: Path) -> dict[str, Any] | None:
    """Return the first JSON object among the first hundred lines."""
    with closing(objects(path)) as records:
        return next((r for r in islice(records, 100) if isinstance(r, dict)), None)
