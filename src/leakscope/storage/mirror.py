"""The mirror of a URL on this machine: its files, a lock, and what is known of the remote side."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from leakscope.records.artifacts import is_partial, private_directory, write_json
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import MARKER, remove
from leakscope.records.seal import SEAL, parsed_seal
from leakscope.storage.remote_address import FILES, RemoteAddress, mirror_home
from leakscope.storage.remote_store import RemoteFile, RemoteStore
from leakscope.storage.store_errors import full_disk

_STATE, _LOCK = "mirror.json", "lock"


class KnownFile(BaseModel):
    """A file that was fetched or uploaded here, as both sides had it then."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int
    changed: int | None
    """When the server says that it was written."""
    tag: str | None = None
    """What the server called its content."""
    digest: str

    def is_at(self, listed: RemoteFile) -> bool:
        """Whether the listing still shows this very file."""
        return (self.size, self.changed) == (listed.size, listed.changed)


class MirrorState(BaseModel):
    """What is known of a mirror: `mirror.json` beside its files."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: dict[str, KnownFile] = {}
    """By their names; that of a URL of one file is empty."""
    phase: Literal["copy", "working", "made"] = "copy"
    """A copy of what is there remotely; or the output of a command that works on it; or one that is
    made, and not known to be uploaded as a whole.
    """
    command: str | None = None
    """Which command works, or worked, on it."""
    request: str | None = None
    """The digest of all that this command was given."""
    inputs: dict[str, str] = {}
    """What its inputs held when it opened them: digests by what they were given by."""


class Mirror:
    """The mirror of one URL."""

    def __init__(self, address: RemoteAddress, *, fresh: bool = False) -> None:
        self.address = address
        self.home = mirror_home(address, fresh=fresh)
        self.path = self.home / FILES / address.name
        self.store = RemoteStore(address)

    def local(self, name: str) -> Path:
        """Where a file of the mirror is."""
        return self.path / name if name else self.path

    def names(self) -> list[str]:
        """The files that are there, without markers and half-written ones."""
        if self.path.is_file():
            return [""]
        found = []
        for folder, _, files in os.walk(self.path):
            for each in files:
                file = Path(folder) / each
                if each != MARKER and not is_partial(file):
                    found.append(file.relative_to(self.path).as_posix())
        return sorted(found)

    def half_written(self) -> list[Path]:
        """What a killed process left half-written. Whoever holds the lock can be sure that nobody
        is writing it.
        """
        return [path for path in self.home.rglob("*") if is_partial(path)]

    def sweep(self) -> None:
        """Remove what is half-written; the lock is held alone."""
        for path in self.half_written():
            remove(path)

    def is_finished(self) -> bool:
        """Whether a command has finished here: what it made is there, and its mark is gone or
        would have been the next to go, since a seal lists just what is there.
        """
        marker, names = self.path / MARKER, self.names()
        marked = marker.is_file() and marker.stat().st_size > 0
        if not marked or SEAL not in names:
            return bool(names) and not marked
        sealed = parsed_seal((self.path / SEAL).read_bytes())
        return sealed is not None and {SEAL, *sealed} == set(names)

    def state(self) -> MirrorState:
        """What is known of it."""
        try:
            return MirrorState.model_validate_json((self.home / _STATE).read_bytes())
        except FileNotFoundError:
            return MirrorState()
        except (ValidationError, UnicodeDecodeError):
            raise LeakscopeError(
                f"{self.home / _STATE} is damaged; remove {self.home} if nothing in it is yours."
            ) from None

    def note(self, state: MirrorState) -> MirrorState:
        """Keep what is known of it."""
        write_json(self.home / _STATE, state)
        return state

    def clear(self) -> None:
        """Remove the files and what is known of them."""
        if os.path.lexists(self.path):
            remove(self.path)
        (self.home / _STATE).unlink(missing_ok=True)

    @contextmanager
    def locked(self, *, alone: bool) -> Iterator["MirrorLock"]:
        """Keep other processes of this machine from changing the mirror until the block ends; and,
        if `alone`, from using it at all.
        """
        with room_in_cache():
            private_directory(self.home / FILES)
            self.home.chmod(0o700)
            file = os.open(self.home / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            lock = MirrorLock(file)
            if alone and not lock.take(alone=True, wait=False):
                raise LeakscopeError(
                    f"Another leakscope on this machine uses {self.address.url}; wait for it, or "
                    "choose another URL."
                )
            if not alone:
                lock.take(alone=False)
            yield lock
        finally:
            os.close(file)


class MirrorLock:
    """A lock that is shared by readers."""

    def __init__(self, file: int) -> None:
        self._file = file

    def take(self, *, alone: bool, wait: bool = True) -> bool:
        """Take it, or change how it is held; whether that was possible at once or after waiting."""
        how = fcntl.LOCK_EX if alone else fcntl.LOCK_SH
        try:
            fcntl.flock(self._file, how if wait else how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def room_in_cache() -> Iterator[None]:
    """Say so if the cache's disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full_disk() from None
        raise
