"""Directories that somebody else may have made: links in circles, pipes and devices."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from leakscope.records.errors import LeakscopeError

DEPTH = 2
"""How many levels of folders are looked at: what is read of an artifact lies in these."""


def refuse_special_files(folder: Path) -> None:
    """Raise if something in a folder is a pipe, a socket or a device, or a link to one: whoever
    opens a pipe may wait for ever, and a device may have no end.
    """
    for entry in _entries(folder, DEPTH):
        try:
            mode = entry.stat().st_mode
        except OSError:
            continue  # a link to nothing, or one that may not be followed: whoever reads it says so
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise LeakscopeError(
                f"{entry.path} is a pipe or a device and not a file, so {folder} is not read; copy "
                f"the directory without it."
            )


def real_path(path: Path) -> Path:
    """Where a path leads when all links are followed. Unlike `Path.resolve`, it does not raise for
    links in a circle: it stays at one of them.
    """
    return Path(os.path.realpath(path))


def _entries(folder: str | Path, depth: int) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except OSError:
        return
    for entry in entries:
        yield entry
        if depth > 1 and entry.is_dir(follow_symlinks=False):
            yield from _entries(entry.path, depth - 1)
