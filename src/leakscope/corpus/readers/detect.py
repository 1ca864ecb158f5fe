"""Which reader an input needs, told from its name or layout."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from leakscope.corpus.letters.sender_keys import SenderKeys
from leakscope.corpus.letters.senders import Sender
from leakscope.corpus.readers.gitlog import read_git
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.jsonl import objects, read_jsonl
from leakscope.corpus.readers.mail import (
    maildir_senders,
    mbox_senders,
    read_maildir,
    read_mbox,
)
from leakscope.corpus.readers.received_repository import git_folder
from leakscope.corpus.readers.reddit import read_reddit
from leakscope.corpus.readers.rows import Row, RowReader, numbered
from leakscope.records.errors import LeakscopeError

DATASET_FILES = ("dataset_dict.json", "state.json", "dataset_info.json")


class LetterReader(NamedTuple):
    """How letters are read: first who sent them, in all inputs, then the letters."""

    senders: Callable[[Path], Iterator[Sender]]
    read: Callable[[Path, InputSettings, SenderKeys], Iterator[Row]]


class Format(NamedTuple):
    """A format: its reader, and the names that its files end with."""

    read: RowReader
    suffixes: tuple[str, ...] = ()
    compressible: bool = False
    """Whether it is read through .gz and .zst; other formats have a compression of their own."""
    columns: bool = False
    """Whether it has columns, or keys, whose names can be chosen."""
    letters: LetterReader | None = None
    """If it is mail."""


def _read_csv(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Read CSV; the import waits, as in the two below, because pyarrow is slow to load."""
    from leakscope.corpus.readers.table import read_csv  # noqa: PLC0415

    return read_csv(path, settings)


def _read_parquet(path: Path, settings: InputSettings) -> Iterator[Row]:
    from leakscope.corpus.readers.table import read_parquet  # noqa: PLC0415

    return read_parquet(path, settings)


def _read_arrow(path: Path, settings: InputSettings) -> Iterator[Row]:
    from leakscope.corpus.readers.table import read_arrow  # noqa: PLC0415

    return read_arrow(path, settings)


_MBOX = LetterReader(mbox_senders, read_mbox)
_MAILDIR = LetterReader(maildir_senders, read_maildir)
# To add a format, write its reader in a file of its own and add a line here.
FORMATS: dict[str, Format] = {
    "jsonl": Format(read_jsonl, (".jsonl", ".ndjson", ".json"), compressible=True, columns=True),
    "csv": Format(_read_csv, (".csv",), compressible=True, columns=True),
    "parquet": Format(_read_parquet, (".parquet", ".pq"), columns=True),
    "arrow": Format(_read_arrow, (".arrow", ".feather"), columns=True),
    "mbox": Format(read_mbox, (".mbox", ".mbx"), compressible=True, letters=_MBOX),
    "maildir": Format(read_maildir, letters=_MAILDIR),
    "reddit": Format(read_reddit),
    "git": Format(read_git),
}
_FORMAT_OF = {suffix: name for name, format in FORMATS.items() for suffix in format.suffixes}


def read(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Return the rows of a file or folder; without a `format`, its name or layout tells it.

    The path and the format are checked at once, the content as the rows are drawn.
    """
    return _format(path, settings).read(path, settings)


def read_all(paths: Iterable[Path], settings: InputSettings) -> Iterator[Row]:
    """Return the rows of files or folders, one after the other, as `read` does, each with its
    origin; the users of mail are told by the senders of all of it.
    """
    return chain.from_iterable(rows_by_input(paths, settings))


def rows_by_input(paths: Iterable[Path], settings: InputSettings) -> list[Iterator[Row]]:
    """The same for each file or folder."""
    inputs = [(path, _format(path, settings)) for path in paths]
    mail = [(path, how.letters) for path, how in inputs if how.letters is not None]

    @cache
    def keys() -> SenderKeys:
        return SenderKeys(sender for path, letters in mail for sender in letters.senders(path))

    def rows(place: int, path: Path, how: Format) -> Iterator[Row]:
        if how.letters is None:
            yield from numbered(how.read(path, settings), place)
        else:
            yield from numbered(how.letters.read(path, settings, keys()), place)

    return [rows(place, path, how) for place, (path, how) in enumerate(inputs)]


def _format(path: Path, settings: InputSettings) -> Format:
    """Return the format of an input that can be read."""
    if not path.exists():
        raise LeakscopeError(f"{path} does not exist: check the path.")
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise LeakscopeError(f"{path} is not readable: change its permissions.")
    name = detect(path) if settings.format is None else settings.format
    if name not in FORMATS:
        raise LeakscopeError(f'There is no format "{name}": choose one of {", ".join(FORMATS)}.')
    if settings.split_column is not None and not FORMATS[name].columns:
        raise LeakscopeError(
            f"{path} is read as {name}, which has no columns; leave out --split-column."
        )
    return FORMATS[name]


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
    if suffixes and suffixes <= _FORMAT_OF.keys():
        raise LeakscopeError(f"{path} is a folder of data files: name the files themselves.")
    return None


def _of_file(path: Path) -> str | None:
    compressed = path.suffix.lower() in (".gz", ".zst")
    suffix = _inner_suffix(path)
    name = _FORMAT_OF.get(suffix)
    if name not in (None, "jsonl"):
        return name if FORMATS[name].compressible or not compressed else None
    if name is None and suffix:
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
