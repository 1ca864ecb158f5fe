"""A git repository that somebody else may have made: where its objects are, and which commit HEAD
names, found without asking git. Neither its configuration nor anything outside of it is read.
"""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from leakscope.records.errors import LeakscopeError
from leakscope.records.received_files import real_path

LONGEST_FILE = 1 << 16
"""Bytes of a small file such as HEAD; a longer one is refused."""
SYMBOLIC_DEPTH = 5
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
REFERENCE = re.compile(r"refs(?:/[^/\x00-\x20\x7f~^:?*\[\\]+)+")
OF_ONE_TREE = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
"""References that a linked work tree keeps for itself."""


@dataclass(frozen=True)
class ReceivedRepository:
    """What is needed of a repository to read its history."""

    objects: Path
    head: str
    """The commit that HEAD names, as 40 (SHA-1) or 64 (SHA-256) hexadecimal digits."""
    shallow: tuple[str, ...]
    """Commits whose parents were left out when it was cloned."""
    places: tuple[Path, ...]
    """Files and folders that must belong to whoever reads them."""


def git_folder(path: Path) -> Path:
    """Return the git folder (or the file that names it) of a work tree, or a bare repository; but
    never a repository that contains the path.
    """
    if os.path.lexists(path / ".git"):
        return path / ".git"
    if (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir():
        return path
    raise LeakscopeError(f"{path} is not a git repository: name its top folder.")


def received_repository(path: Path) -> ReceivedRepository:
    """Find the objects and the commit of HEAD; raise LeakscopeError for what is not supported."""
    path = real_path(path)
    link = git_folder(path)
    folder = _named_folder(path, link) if link.is_file() and not link.is_symlink() else link
    shared = _shared_folder(folder)
    for part in (folder, shared, shared / "objects", shared / "refs"):
        _require_folder(part)
    if (shared / "reftable").exists():
        raise LeakscopeError(
            f"{path} keeps its branches in reftable files: read a copy made by git clone "
            "--no-local --ref-format=files."
        )
    _check_objects(shared / "objects")
    shallow = _text_of(shared / "shallow", shared, most=1 << 26) or ""
    return ReceivedRepository(
        shared / "objects",
        _head(path, folder, shared),
        tuple(filter(COMMIT.fullmatch, shallow.split())),
        (path, link, folder, shared, shared / "objects"),
    )


def _named_folder(path: Path, file: Path) -> Path:
    """Return the folder that a `.git` file names: of a linked work tree that the repository knows,
    or of a submodule. Any other might be a repository that the sender wants us to read.
    """
    said = _text_of(file, path) or ""
    target = Path(os.path.normpath(path / said.removeprefix("gitdir:").strip()))
    if not said.startswith("gitdir:") or not target.is_dir():
        raise LeakscopeError(f"{file} does not name a git folder: name the repository itself.")
    inside = any(target.is_relative_to(each / ".git" / "modules") for each in path.parents)
    if inside and real_path(target) == target:
        return target
    back = _text_of(target / "gitdir", target)
    if back is not None and real_path(target / back.strip()) == file:
        return real_path(target)
    raise LeakscopeError(
        f"{file} leads to {target}, which does not know of it: name that folder itself if you "
        "want it read."
    )


def _shared_folder(folder: Path) -> Path:
    """Return the folder that a linked work tree shares with its repository; else the same."""
    said = _text_of(folder / "commondir", folder)
    if said is None:
        return folder
    shared = Path(os.path.normpath(folder / said.strip()))
    if folder.parent != shared / "worktrees":
        raise LeakscopeError(
            f"{folder} is not a work tree of {shared}: name the repository itself."
        )
    return shared


def _head(path: Path, folder: Path, shared: Path) -> str:
    """Follow HEAD to a commit, through branches and packed references."""
    name = "HEAD"
    for _ in range(SYMBOLIC_DEPTH):
        home = folder if name == "HEAD" or name.startswith(OF_ONE_TREE) else shared
        said = (_text_of(home / name, home) or _packed(shared, name) or "").strip()
        if COMMIT.fullmatch(said):
            return said
        name = said.removeprefix("ref:").strip()
        parts = name.split("/")
        odd = any(part.startswith(".") or ".." in part or part.endswith(".lock") for part in parts)
        if not said.startswith("ref:") or not REFERENCE.fullmatch(name) or odd:
            break
    raise LeakscopeError(f"{path} has no commits that git can read: check out a branch.")


def _packed(shared: Path, name: str) -> str | None:
    """Find a reference in `packed-refs`, which may be large."""
    file = shared / "packed-refs"
    if not _is_plain(file, shared):
        return None
    wanted = b" " + os.fsencode(name)
    with file.open("rb") as stream:
        while line := stream.readline(LONGEST_FILE):
            if line.rstrip(b"\r\n").endswith(wanted) and not line.startswith((b"#", b"^")):
                found = line.split(b" ", 1)
                if found[1].rstrip(b"\r\n") == wanted[1:]:
                    return found[0].decode("ascii", "replace")
    return None


def _check_objects(objects: Path) -> None:
    """Refuse objects that are kept elsewhere, and whatever git would open that is not a file."""
    borrowed = _text_of(objects / "info" / "alternates", objects)
    if borrowed is not None and borrowed.strip():
        raise LeakscopeError(
            f"{objects} borrows objects from other folders (info/alternates): read a copy made by "
            "git clone --no-local."
        )
    for entry in _entries(objects):
        for inner in _entries(Path(entry.path)) if entry.is_dir(follow_symlinks=False) else [entry]:
            if not inner.is_file(follow_symlinks=False) and not inner.is_dir(follow_symlinks=False):
                raise _linked(Path(inner.path))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            yield from found
    except OSError as error:
        reason = error.strerror or "input error"
        raise LeakscopeError(f"{folder} cannot be read ({reason}): copy it again.") from error


def _text_of(file: Path, root: Path, most: int = LONGEST_FILE) -> str | None:
    """Return what a file below `root` says; None if there is none."""
    if not _is_plain(file, root):
        return None
    try:
        with file.open("rb") as stream:
            data = stream.read(most + 1)
    except OSError as error:
        reason = error.strerror or "input error"
        raise LeakscopeError(f"{file} cannot be read ({reason}): copy it again.") from error
    if len(data) > most:
        raise LeakscopeError(f"{file} is too large for what it is: copy the repository again.")
    return os.fsdecode(data)


def _is_plain(file: Path, root: Path) -> bool:
    """Tell whether a file is there; refuse links on the way to it, and pipes or devices."""
    part = root
    for name in file.relative_to(root).parts:
        part = part / name
        try:
            mode = part.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            reason = error.strerror or "input error"
            raise LeakscopeError(f"{part} cannot be read ({reason}): copy it again.") from error
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise _linked(part)
    return stat.S_ISREG(mode)


def _require_folder(folder: Path) -> None:
    try:
        mode = folder.lstat().st_mode
    except OSError as error:
        raise LeakscopeError(f"{folder} is missing: name a whole git repository.") from error
    if not stat.S_ISDIR(mode):
        raise _linked(folder)


def _linked(part: Path) -> LeakscopeError:
    return LeakscopeError(
        f"{part} is a link or a special file, which is not followed: read a copy made by git "
        "clone --no-local."
    )
