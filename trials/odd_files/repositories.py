"""Repositories of strangers: settings that name programs, missing objects, links, false trails."""

import hashlib
import os
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

from git_repositories import evil_repository, git, made, program, promisor
from trials.forked import Ended
from trials.odd_files.case import Commands, OddFile, Place, fifo


def repositories() -> list[OddFile]:
    spoilt: dict[str, Callable[[Place, Path], object]] = {
        "programs in its settings": lambda place, path: None,
        "a promisor, and a commit missing": _missing_commit,
        "a promisor, and HEAD missing": _missing_head,
        "alternates elsewhere": _alternates,
        "objects behind a link": _linked_objects,
        "HEAD as a pipe": lambda place, path: fifo(path / ".git" / "HEAD"),
        "HEAD as a link": _linked_head,
        "HEAD of 10 MB": lambda place, path: (path / ".git" / "HEAD").write_bytes(b"x" * 10**7),
        "HEAD that leads outside": lambda place, path: (path / ".git" / "HEAD").write_text(
            "ref: refs/heads/../../../x\n"
        ),
        "a branch that names itself": _loop,
        "packed references of 40 MB": lambda place, path: (
            path / ".git" / "packed-refs"
        ).write_bytes(b"x" * (40 << 20)),
        "a commit that is cut": _cut_commit,
        "a commit graph that lies": _graph,
        "a pack that is noise": _pack,
        "an option as the name of a branch": lambda place, path: (
            path / ".git" / "HEAD"
        ).write_text("ref: refs/heads/--upload-pack=evil.sh\n"),
        "reftables": lambda place, path: (path / ".git" / "reftable").mkdir(),
    }
    found = [OddFile("repositories", name, _evil(spoil)) for name, spoil in spoilt.items()]
    return [
        *found,
        OddFile("repositories", "a .git file that leads elsewhere", _led_elsewhere, _no_other),
        OddFile("repositories", "a .git link", _linked_folder, _no_other),
        OddFile("repositories", "a submodule with evil settings", _submodule),
    ]


def _evil(spoil: Callable[[Place, Path], object]) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        path = evil_repository(place.folder / "received", place.marker)
        spoil(place, path)
        return place.building(path, more=("--validation", 0))

    return prepare


def _missing_commit(place: Place, path: Path) -> None:
    promisor(path, path / "evil.sh")
    name = git(path, "-c", "core.fsmonitor=false", "rev-parse", "HEAD~1").decode().strip()
    (path / ".git" / "objects" / name[:2] / name[2:]).unlink()


def _missing_head(place: Place, path: Path) -> None:
    promisor(path, path / "evil.sh")
    (path / ".git" / "HEAD").write_text("12" * 20 + "\n")


def _alternates(place: Place, path: Path) -> None:
    other = made(place.folder / "other", b"other words")
    (path / ".git" / "objects" / "info" / "alternates").write_text(f"{other}/.git/objects\n")


def _linked_objects(place: Place, path: Path) -> None:
    other = made(place.folder / "other", b"other words")
    (path / ".git" / "objects").rename(place.folder / "moved")
    (path / ".git" / "objects").symlink_to(other / ".git" / "objects")


def _linked_head(place: Place, path: Path) -> None:
    other = made(place.folder / "other", b"other words")
    (path / ".git" / "HEAD").unlink()
    (path / ".git" / "HEAD").symlink_to(other / ".git" / "HEAD")


def _loop(place: Place, path: Path) -> None:
    (path / ".git" / "HEAD").write_text("ref: refs/heads/loop\n")
    (path / ".git" / "refs" / "heads" / "loop").write_text("ref: refs/heads/loop\n")


def _cut_commit(place: Place, path: Path) -> None:
    name = git(path, "-c", "core.fsmonitor=false", "rev-parse", "HEAD").decode().strip()
    file = path / ".git" / "objects" / name[:2] / name[2:]
    file.chmod(0o600)
    file.write_bytes(file.read_bytes()[:-20])


def _graph(place: Place, path: Path) -> None:
    info = path / ".git" / "objects" / "info"
    info.mkdir(exist_ok=True)
    (info / "commit-graph").write_bytes(b"CGPH\1\1\4\0" + b"\xff" * 4000)


def _pack(place: Place, path: Path) -> None:
    for suffix in ("pack", "idx"):
        name = f"pack-{'ab' * 20}.{suffix}"
        (path / ".git" / "objects" / "pack" / name).write_bytes(os.urandom(5000))


def _led_elsewhere(place: Place) -> Commands:
    other = made(place.folder / "other", b"other words")
    (place.folder / "received").mkdir()
    (place.folder / "received" / ".git").write_text(f"gitdir: {other}/.git\n")
    return place.building(place.folder / "received", more=("--validation", 0))


def _linked_folder(place: Place) -> Commands:
    other = made(place.folder / "other", b"other words")
    (place.folder / "received").mkdir()
    (place.folder / "received" / ".git").symlink_to(other / ".git")
    return place.building(place.folder / "received", more=("--validation", 0))


def _no_other(place: Place, ended: list[Ended]) -> str | None:
    return "another repository was read" if ended[0].code == 0 else None


def _submodule(place: Place) -> Commands:
    whole = made(place.folder / "whole", b"outer")
    inner = evil_repository(place.folder / "inner", place.marker)
    modules = whole / ".git" / "modules"
    modules.mkdir()
    (inner / ".git").rename(modules / "inner")
    program(modules, place.marker)
    (whole / "inner").mkdir()
    (whole / "inner" / ".git").write_text("gitdir: ../.git/modules/inner\n")
    return place.building(whole / "inner", more=("--validation", 0))


def commit_bomb(place: Place) -> Commands:
    """A commit whose message is 600 MB of one letter, in half a megabyte."""
    path = made(place.folder / "received", b"one")
    person = b"A <a@x> 1 +0000\n"
    tree = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"
    tree += b"author " + person + b"committer " + person + b"\n"
    size = 600 << 20
    header = b"commit %d\0" % (len(tree) + size)
    packer, digest = zlib.compressobj(9), hashlib.sha1(header + tree)
    packed = packer.compress(header + tree)
    for _ in range(600):
        digest.update(b"a" * (1 << 20))
        packed += packer.compress(b"a" * (1 << 20))
    name = digest.hexdigest()
    target = path / ".git" / "objects" / name[:2] / name[2:]
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(packed + packer.flush())
    (path / ".git" / "HEAD").write_text(name + "\n")
    subprocess.run(["git", "config", "core.bigFileThreshold", "1"], cwd=path, check=True)
    return place.building(path, more=("--validation", 0))
