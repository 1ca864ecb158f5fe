"""Who may write into a directory, and what may be removed from it.

The file `.leakscope` in a directory is its lock, and says which command has not finished there.
Without such words of our own, nothing in a directory that is in use already is ever removed.
"""

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from leakscope.records.artifacts import already, is_partial, private_directory
from leakscope.records.errors import LeakscopeError

MARKER = ".leakscope"
_MOST = 4096  # bytes of a marker; ours have about fifty
_TRIES = 100  # to get hold of a marker that others make and remove


class Unfinished(BaseModel):
    """What `.leakscope` says: the command that began here and has not finished."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    unfinished: str
    version: int = 1


@dataclass(frozen=True)
class Claim:
    """A directory that this process alone writes into, and that holds only what is ours."""

    path: Path
    keep: frozenset[str]

    def clear(self, leftovers: Collection[str] = (), keep: Collection[str] = ()) -> None:
        """Remove `leftovers` of an interrupted attempt and half-written files, and let stay what
        is named in `keep`. If anything else is there, refuse and remove nothing.
        """
        known = self.keep.union(keep)
        found = [entry for entry in self.path.iterdir() if entry.name not in known]
        ours = [entry for entry in found if entry.name in leftovers or is_partial(entry)]
        if len(ours) < len(found):
            raise already(self.path)
        for entry in ours:
            remove(entry)

    def sweep(self, below: Iterable[Path] = ()) -> None:
        """Remove what a killed process left half-written here and in some folders below."""
        for folder in (self.path, *below):
            sweep(folder)


def sweep(folder: Path) -> None:
    """Remove what a killed process left half-written in a folder that this process has locked."""
    for entry in folder.iterdir():
        if is_partial(entry):
            remove(entry)


@contextmanager
def claimed(
    out: Path, command: str, *, keep: Collection[str] = (), recognised: bool = False
) -> Iterator[Claim]:
    """Take the directory `out` for a command: a new or empty one, or one in which that command was
    interrupted. It stays marked until the block ends well, so the same command can take it up.

    Entries named in `keep` may be there from the start. `recognised` says that the caller knows
    the unmarked content as its own, as versions without marks left it.
    """
    if not recognised:
        check_free(out, keep)
    with locked(out) as lock:
        claim = Claim(out, frozenset((MARKER, *keep)))
        begun = _begun(out, lock)
        if begun is None and not recognised and _holds_more(out, claim.keep):
            raise already(out)
        _check_begun(out, begun, command)
        private_directory(out)
        if begun is None:
            os.pwrite(lock, Unfinished(unfinished=command).model_dump_json().encode(), 0)
            os.fsync(lock)
        try:
            yield claim
        except BaseException:
            if not _holds_more(out, claim.keep):
                os.ftruncate(lock, 0)  # nothing to take up
            raise
        os.ftruncate(lock, 0)


@contextmanager
def taken_up(out: Path, command: str) -> Iterator[bool]:
    """Take a directory in which all is made. Says whether `command` was killed there before it had
    tidied up; if so, its mark goes when the block ends well.
    """
    if not (out / MARKER).exists():
        yield False
        return
    with locked(out) as lock:
        killed = _begun(out, lock) == command
        yield killed
        if killed:
            os.ftruncate(lock, 0)


def is_unfinished(out: Path) -> bool:
    """Whether `out` has the mark of a command. A killed one may leave the file with no words: then
    all was made.
    """
    try:
        return (out / MARKER).lstat().st_size > 0
    except FileNotFoundError:
        return False


def unmark(out: Path) -> None:
    """Remove the mark of a directory in which all is made, as a killed command may leave it."""
    if (out / MARKER).exists():
        with locked(out) as lock:
            os.ftruncate(lock, 0)


@contextmanager
def locked(out: Path) -> Iterator[int]:
    """Keep other processes of ours from writing into the directory `out` until the block ends, or
    this process does. A directory made for this goes again if nothing is put into it.
    """
    made = not out.exists()
    lock = _lock(out)
    try:
        yield lock
    finally:
        # As long as the lock is held, nobody else takes the file for theirs.
        if not os.fstat(lock).st_size:
            with suppress(FileNotFoundError):
                (out / MARKER).unlink()
            if made:
                with suppress(OSError):
                    out.rmdir()
        os.close(lock)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes the file `path` when the block ends well. Whatever is there
    already, or is put there meanwhile, stays, and is an error.
    """
    if os.path.lexists(path) and not path.is_dir():
        raise already(path)
    if path.is_dir() or not path.parent.is_dir():
        raise LeakscopeError(f"{path} cannot be written; name a file in a folder that is there.")
    staged = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.leakscope")
    try:
        yield staged
        try:
            os.link(staged, path, follow_symlinks=False)
        except FileExistsError:
            raise already(path) from None
        except OSError:  # a file system without links; a moment is left in which another may come
            if os.path.lexists(path):
                raise already(path) from None
            staged.rename(path)
    finally:
        staged.unlink(missing_ok=True)


def remove(entry: Path) -> None:
    """Remove a file, a link (never what it leads to) or a folder with all that is in it."""
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink(missing_ok=True)


def check_free(out: Path, keep: Collection[str] = ()) -> None:
    """Refuse a directory that holds something and has no mark, before anything is made in it."""
    if out.exists() and not out.is_dir():
        raise already(out)
    with suppress(FileNotFoundError):  # another process has just removed what it had made
        if out.is_dir() and not (out / MARKER).exists() and _holds_more(out, keep):
            raise already(out)


def check_claimable(out: Path, command: str, keep: Collection[str] = ()) -> None:
    """Refuse a directory that `claimed` would refuse that command; nothing is written."""
    check_free(out, keep)
    with suppress(FileNotFoundError, NotADirectoryError):
        if not stat.S_ISREG((out / MARKER).lstat().st_mode):
            return
        begun = _named(out, (out / MARKER).read_bytes()[:_MOST])
        if begun is None and _holds_more(out, (MARKER, *keep)):
            raise already(out)
        _check_begun(out, begun, command)


def _check_begun(out: Path, begun: str | None, command: str) -> None:
    if begun not in (None, command):
        raise LeakscopeError(
            f"{out} holds an unfinished {begun}; finish that first, or choose another --out."
        )


def _holds_more(out: Path, known: Collection[str]) -> bool:
    return any(entry.name not in known for entry in out.iterdir())


def _lock(out: Path) -> int:
    """The marker of `out`, made if need be, open and locked."""
    path = out / MARKER
    for _ in range(_TRIES):
        try:
            if not out.exists():
                private_directory(out)
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except FileNotFoundError:
            continue  # another process has just removed the directory that it had made
        except IsADirectoryError:
            raise already(out) from None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise already(out) from None
            raise
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(lock, path):
                return lock
        except OSError as error:
            os.close(lock)
            raise _refused(out, error) from None
        os.close(lock)  # it was removed by the process that had it: take the next one
    raise _busy(out)


def _is_at(lock: int, path: Path) -> bool:
    """Whether an open file is still the one that stands at `path`."""
    try:
        return os.path.samestat(os.fstat(lock), path.lstat())
    except FileNotFoundError:
        return False


def _busy(out: Path) -> LeakscopeError:
    return LeakscopeError(
        f"Another leakscope is writing into {out}; wait for it, or choose another directory."
    )


def _refused(out: Path, error: OSError) -> LeakscopeError:
    if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
        return _busy(out)
    return LeakscopeError(
        f"The file system of {out} has no locks, so that nothing keeps two commands apart; choose "
        f"a directory on another one."
    )


def _begun(out: Path, lock: int) -> str | None:
    return _named(out, os.pread(lock, _MOST, 0))


def _named(out: Path, content: bytes) -> str | None:
    """The command that the marker names; None if it is empty, as while it is being made."""
    if not content:
        return None
    try:
        return Unfinished.model_validate_json(content).unfinished
    except ValidationError:
        raise LeakscopeError(
            f"{out / MARKER} was not written by this version; choose another --out, or remove "
            f"{out} first."
        ) from None
