"""Private temporary directories that do not outlive whoever made them."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LONGEST = 40
"""Of the path of the system's temporary directory: sockets below it may have 107 characters."""


@contextmanager
def private_scratch(kind: str) -> Iterator[Path]:
    """A new directory, 0700 and with a short path, removed at the end. What a killed process left
    of the same `kind` is removed first.
    """
    base = Path(tempfile.gettempdir())
    if len(str(base)) > _LONGEST:
        base = Path("/tmp")  # noqa: S108 (a directory of our own is made in it)
    _sweep(base, kind)
    path, handle = _locked(base, kind)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)  # a dying process may still write there
        os.close(handle)


def _locked(base: Path, kind: str) -> tuple[Path, int]:
    """A new directory, held as long as this process lives, which says that it is in use."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=base))
        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:  # somebody took it for a leftover, before it was locked
            continue
        fcntl.flock(handle, fcntl.LOCK_EX)
        if path.exists():
            return path, handle
        os.close(handle)


def _sweep(base: Path, kind: str) -> None:
    """Remove directories of ours that no living process holds."""
    for path in base.glob(f"{kind}-????????"):
        try:
            if path.lstat().st_uid != os.getuid():
                continue
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # gone, or no directory
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
        except BlockingIOError:
            pass  # in use
        finally:
            os.close(handle)
