"""From a finished directory on this machine to its URL: data first, what makes it count as finished
last, every file read back and held to its digest.

Nothing that others have put there is overwritten or removed: a remote file must be one that was
fetched or uploaded here and is still as it was, or be the same as ours.
"""

import hashlib
from pathlib import PurePosixPath

from leakscope.engine.progress import Progress
from leakscope.records.artifacts import digest_of_file
from leakscope.records.errors import LeakscopeError
from leakscope.records.seal import SEAL, parsed_seal
from leakscope.storage.mirror import KnownFile, Mirror, MirrorState
from leakscope.storage.remote_store import RemoteFile

RECORDS = (
    "manifest.json", "metrics.json", "config.json", "folds.json", "harden.json", "person.json",
    "canaries.json", "exposure.json", "attack.json", "bound.json", "study.json", "diff.json",
    "compare.json", "checkpoint.json",
)  # fmt: skip
"""The files without which a directory of ours is not finished."""
_TRIES = 2
_KEEP_EVERY = 32  # uploads


def already_at(url: str) -> LeakscopeError:
    """The error for an output that would overwrite something."""
    return LeakscopeError(f"{url} already exists; choose another --out or remove it first.")


def publish(mirror: Mirror, progress: Progress) -> None:
    """Make the remote side like the mirror, which is locked. What was uploaded before stays and is
    not uploaded again, so the same call goes on where another was killed.
    """
    upload = _Upload(mirror)
    try:
        _put_all(mirror, upload, progress)
    finally:
        upload.keep()
    mirror.note(MirrorState(files=mirror.state().files))


def _put_all(mirror: Mirror, upload: "_Upload", progress: Progress) -> None:
    names = sorted(mirror.names(), key=upload_order)
    digests = _checked_digests(mirror, names)
    total = sum(mirror.local(name).stat().st_size for name in names)
    done = 0
    last = next((at for at, name in enumerate(names) if is_last(name)), len(names))
    for at, name in enumerate(names):
        if at == last:
            upload.check_undisturbed()
        upload.put(name, digests[name])
        done += mirror.local(name).stat().st_size
        progress("upload", done, total, "bytes")
    upload.remove_others(names)
    upload.check_undisturbed()


def _checked_digests(mirror: Mirror, names: list[str]) -> dict[str, str]:
    """The digests of all files; raise if one is not what a seal says. A finished directory may have
    waited here for long.
    """
    found = {name: digest_of_file(mirror.local(name)) for name in names}
    for name in names:
        if PurePosixPath(name).name == SEAL:
            sealed = parsed_seal(mirror.local(name).read_bytes())
            if sealed is None:
                raise _damaged_here(mirror, name)
            for each, digest in sealed.items():
                file = name.removesuffix(SEAL) + each
                if found.get(file) != digest:
                    raise _damaged_here(mirror, file)
    return found


def _damaged_here(mirror: Mirror, name: str) -> LeakscopeError:
    return LeakscopeError(
        f"{mirror.address.url}/{name} was damaged on this machine before it was uploaded; remove "
        f"{mirror.home} and what is at the URL, then give the same command again."
    )


def upload_order(name: str) -> tuple[int, int, int, str]:
    """Data of all folders; then from the innermost folder to the outermost its seal and records."""
    path = PurePosixPath(name)
    rank = 2 if path.name in RECORDS else 1 if path.name == SEAL else 0
    return (min(rank, 1), -len(path.parts) if rank else 0, rank, name)


def is_last(name: str) -> bool:
    """Whether a file is among those that make a directory count as finished."""
    return upload_order(name)[0] > 0


def check_ours(mirror: Mirror, listed: dict[str, RemoteFile]) -> None:
    """Raise if something is there remotely that neither came from here nor is the same as here;
    note what is the same.
    """
    state = mirror.state()
    files = {name: known for name, known in state.files.items() if name in listed}
    for name, found in listed.items():
        same = _still_there(mirror, name, files.get(name), found)
        if same is None:
            path = mirror.local(name)
            if not path.is_file() or path.stat().st_size != found.size:
                raise already_at(mirror.address.url)
            tag, digest = _read_back(mirror, name)
            if digest != digest_of_file(path):
                raise already_at(mirror.address.url)
            same = KnownFile(size=found.size, changed=found.changed, tag=tag, digest=digest)
        files[name] = same
    mirror.note(state.model_copy(update={"files": files}))


class _Upload:
    """One attempt to upload a mirror."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        check_ours(mirror, mirror.store.listed())
        self._state = mirror.state()
        self._unkept = 0

    def put(self, name: str, wanted: str) -> None:
        """Upload a file with this digest, unless it is there, and read it back; twice if it is not
        the same then.
        """
        path = self._mirror.local(name)
        known = self._state.files.get(name)
        if known is not None and known.digest == wanted:
            return
        for _ in range(_TRIES):
            with path.open("rb") as source:
                self._mirror.store.write(name, source)
            tag, found = _read_back(self._mirror, name)
            if found == wanted:
                break
        else:
            raise LeakscopeError(
                f"{self._mirror.address.url}/{name} is not what was uploaded, also the second "
                "time; check the server, then give the same command again."
            )
        listed = self._mirror.store.one(name)
        self._note(
            name, KnownFile(size=listed.size, changed=listed.changed, tag=tag, digest=wanted)
        )

    def remove_others(self, names: list[str]) -> None:
        """Remove what came from here and is here no more."""
        for name in set(self._state.files) - set(names):
            self._mirror.store.remove(name)
            self._note(name, None)

    def check_undisturbed(self) -> None:
        """Raise if the remote side is not what was put there: somebody else writes there, too."""
        listed = self._mirror.store.listed()
        for name in listed.keys() | self._state.files.keys():
            found, known = listed.get(name), self._state.files.get(name)
            same = None if found is None else _still_there(self._mirror, name, known, found)
            if same is None:
                raise LeakscopeError(
                    f"Somebody else is writing into {self._mirror.address.url}; choose another "
                    "--out."
                )
            if same != known:
                self._note(name, same)

    def _note(self, name: str, known: KnownFile | None) -> None:
        files = dict(self._state.files)
        files.pop(name, None)
        if known is not None:
            files[name] = known
        self._state = self._state.model_copy(update={"files": files})
        self._unkept += 1
        if self._unkept >= _KEEP_EVERY:
            self.keep()

    def keep(self) -> None:
        """Write down what is there. Whoever is killed before that reads some files back again."""
        self._mirror.note(self._state)
        self._unkept = 0


def _still_there(
    mirror: Mirror, name: str, known: KnownFile | None, listed: RemoteFile
) -> KnownFile | None:
    """A file that was put there from here, if it is the same still; None: it is not. Servers may
    change their mind about its time, so then the content decides.
    """
    if known is None or known.size != listed.size:
        return None
    if known.is_at(listed):
        return known
    tag, digest = _read_back(mirror, name)
    if digest != known.digest:
        return None
    return known.model_copy(update={"changed": listed.changed, "tag": tag})


def _read_back(mirror: Mirror, name: str) -> tuple[str | None, str]:
    """The tag and the digest of a remote file, of all of its bytes."""
    digest = hashlib.blake2b(digest_size=16)
    with mirror.store.reading(name) as (tag, blocks):
        for block in blocks:
            digest.update(block)
    return tag, digest.hexdigest()
