"""From a URL to files on this machine: what is missing or other is fetched, and held to its seal.

Where a seal of the remote side has a file, its digest decides, for the file here and for the one
that is fetched. A file that no seal has is fetched again if the server calls its content otherwise.
"""

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from leakscope.engine.progress import Progress, silent
from leakscope.records.artifacts import digest_of_file, private_directory, whole_file
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import remove
from leakscope.records.seal import MOST_BYTES, SEAL, digest_of_bytes, parsed_seal
from leakscope.storage.mirror import KnownFile, Mirror, MirrorState, room_in_cache
from leakscope.storage.remote_address import RemoteAddress
from leakscope.storage.remote_store import RemoteFile
from leakscope.storage.store_errors import no_such

_AT_ONCE = 8  # files that are fetched at the same time
_TRIES = 2
PARTS_OF_MODELS = ("snapshots", "checkpoints")
"""Folders of a training that the model itself does without."""

Listing = Mapping[str, RemoteFile]
Check = Callable[[Listing], None]


@contextmanager
def localized(
    address: RemoteAddress,
    *,
    parts: Collection[str] = (),
    without: Collection[str] = (),
    check: Check = lambda listed: None,
    progress: Progress = silent,
) -> Iterator[Path]:
    """A local path with what is at a URL, which stays as it is until the block ends. Folders named
    in `without` may be left out, but for those below them that are named in `parts`; `check` looks
    at the listing before anything is fetched.

    Processes of one machine may do this at once: one fetches, the others wait and find it done.
    """
    mirror = Mirror(address)
    parts = {*parts, address.inner} - {""}
    with mirror.locked(alone=False) as lock:
        fetch = _Fetch(mirror, parts, without)
        check(fetch.listed)
        if fetch.missing() or fetch.gone() or mirror.half_written():
            if not lock.take(alone=True, wait=False):
                progress("fetch", 0, None, f"waiting: another leakscope uses {address.url}")
                lock.take(alone=True)
            fetch = _Fetch(mirror, parts, without)  # another may have done it meanwhile
            fetch.run(progress)
            lock.take(alone=False)
        yield mirror.local(address.inner)


def pull(mirror: Mirror, progress: Progress, *, lenient: bool = False) -> None:
    """Fetch everything into a mirror that is locked already. `lenient`: as it is, damaged or not,
    for those who look for damage.
    """
    _Fetch(mirror, lenient=lenient).run(progress)


class _Fetch:
    """One comparison of a mirror with its remote side, and what it takes to make them alike."""

    def __init__(
        self,
        mirror: Mirror,
        parts: Collection[str] = (),
        without: Collection[str] = (),
        *,
        lenient: bool = False,
    ) -> None:
        self._mirror, self._lenient = mirror, lenient
        self._parts, self._without = parts, {*without, "snapshots"} if parts else without
        self.listed = mirror.store.listed()
        if not self.listed:
            raise no_such(mirror.address.url)
        for part in parts:
            if not any(name.startswith(f"{part}/") for name in self.listed):
                raise no_such(f"{mirror.address.url}/{part}")
        self._state = mirror.state()
        if self._state.phase != "copy":
            raise LeakscopeError(
                f"{mirror.address.url} is the output of an unfinished {self._state.command} on "
                "this machine; finish that first."
            )
        self._names = [name for name in self.listed if self._is_needed(name)]
        self._digests: dict[str, str] = {}
        for name in self._names:
            if name == SEAL or name.endswith(f"/{SEAL}"):
                self._read_seal(name)

    def _is_needed(self, name: str) -> bool:
        if any(name.startswith(f"{part}/") for part in self._parts):
            return True
        return not any(name.startswith(f"{folder}/") for folder in self._without)

    def _read_seal(self, name: str) -> None:
        """Read a seal, and what it says of the files beside and below it."""
        url = f"{self._mirror.address.url}/{name}"
        for _ in range(_TRIES):
            with self._mirror.store.reading(name) as (_, blocks):
                content = b""
                for block in blocks:
                    content += block
                    if len(content) > MOST_BYTES:
                        raise damaged_at(url)
            found = parsed_seal(content)
            if found is not None:
                break
        else:
            if self._lenient:
                return
            raise damaged_at(url)
        self._digests[name] = digest_of_bytes(content)
        folder = name.removesuffix(SEAL)
        for file, digest in found.items():
            self._digests[folder + file] = digest
            if folder + file not in self.listed and not self._lenient:
                raise LeakscopeError(
                    f"{self._mirror.address.url}/{folder}{file} is missing, though its seal has "
                    "it; make the artifact again."
                )

    def missing(self) -> list[str]:
        """The files that must be fetched: those that are not here, or not as they are there."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            here = list(pool.map(self._is_here, self._names))
        return [name for name, known in zip(self._names, here, strict=True) if not known]

    def gone(self) -> list[str]:
        """The files that came from there once and are there no more."""
        return [name for name in self._state.files if name not in self.listed]

    def _is_here(self, name: str) -> bool:
        path = self._mirror.local(name)
        if not path.is_file() or path.is_symlink():
            return False
        wanted = self._digests.get(name)
        if wanted is not None:
            return digest_of_file(path) == wanted
        known = self._state.files.get(name)
        if known is None or not known.is_at(self.listed[name]):
            return False
        if self._mirror.store.tag(name) != known.tag:
            return False
        return digest_of_file(path) == known.digest

    def run(self, progress: Progress) -> None:
        """Make the mirror like its remote side; files that were never there stay."""
        wanted = self.missing()
        total = sum(self.listed[name].size for name in wanted)
        done = 0
        files = dict(self._state.files)
        with room_in_cache():
            private_directory(self._mirror.home)
            self._mirror.sweep()
            for name in self.gone():
                remove(self._mirror.local(name))
                del files[name]
            for folder in sorted({self._mirror.local(name).parent for name in wanted}):
                private_directory(folder)
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                try:
                    for name, known in zip(wanted, pool.map(self._fetch, wanted), strict=True):
                        files[name] = known
                        done += known.size
                        progress("fetch", done, total, "bytes")
                except BaseException:
                    pool.shutdown(wait=True, cancel_futures=True)
                    self._mirror.note(MirrorState(files=files))
                    raise
            self._mirror.note(MirrorState(files=files))

    def _fetch(self, name: str) -> KnownFile:
        """Fetch a file, twice if it is not what its seal or the listing says, or is changed
        meanwhile.
        """
        listed = self.listed[name]
        for _ in range(_TRIES):
            with suppress(_OtherContentError):
                return self._fetch_once(name, listed)
            listed = self._mirror.store.one(name)
        raise damaged_at(f"{self._mirror.address.url}/{name}".rstrip("/"))

    def _fetch_once(self, name: str, listed: RemoteFile) -> KnownFile:
        wanted = self._digests.get(name)
        digest, size = hashlib.blake2b(digest_size=16), 0
        with (
            self._mirror.store.reading(name) as (tag, blocks),
            whole_file(self._mirror.local(name)) as partial,
        ):
            with partial.open("wb") as file:
                for block in blocks:
                    digest.update(block)
                    size += len(block)
                    file.write(block)
            found = digest.hexdigest()
            if not self._lenient and (wanted not in (None, found) or size != listed.size):
                raise _OtherContentError
            if not self._lenient and wanted is None:
                self._check_unchanged(name, size, tag)
        return KnownFile(size=size, changed=listed.changed, tag=tag, digest=found)

    def _check_unchanged(self, name: str, size: int, tag: str | None) -> None:
        """Raise if a file without a seal is another than when it was opened: of one that has become
        shorter meanwhile, the library returns as many bytes as before, whatever they are.
        """
        store = self._mirror.store
        if store.one(name).size != size or store.tag(name) != tag:
            raise _OtherContentError


class _OtherContentError(Exception):
    """What was fetched is not what it must be; it never gets a place in the mirror."""


def damaged_at(url: str) -> LeakscopeError:
    """The error for a remote file that is not what its seal says."""
    return LeakscopeError(
        f"{url} is truncated or damaged, also when it is fetched a second time; make the artifact "
        "again, or upload it anew."
    )
