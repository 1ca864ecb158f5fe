"""The trial of disks: every command on a disk that is too small, or that cannot be written to, and
then again with enough room. The first must end in one sentence; the second, as if nothing had been.
"""

import ctypes
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from trials.forked import Ended, forked
from trials.kills.commands import Killed, commands, differences, left_over
from trials.kills.trial import limit, work_of
from trials.material import done
from trials.outcomes import Outcome, Verdict
from trials.served_folder import ServedFolder, served

COUNT = 75
NEW_MOUNTS, NEW_USER = 0x00020000, 0x10000000
READ_ONLY, REMOUNT = 1, 32
PLENTY = 512 << 20
PAGE = 4096


def disks(seed: int, count: int = COUNT, only: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """So many cases over all commands, in turn; one in three cannot be written to at all."""
    draw = random.Random(seed)
    with served("disks") as place:
        chosen = commands(place, only)
        quiet: dict[str, Path] = {}
        for number in range(count):
            killed = chosen[number % len(chosen)]
            if killed.name not in quiet:
                quiet[killed.name] = _quiet(killed, place)
            folder = quiet[killed.name]
            weighed = _cache_of(folder) if killed.is_remote else folder
            size = 0 if number // len(chosen) % 3 == 2 else _size(weighed, draw)
            for each in (place.case, place.cache):
                each.mkdir()
            # The disk lives in a mount namespace of its own, and goes with the process.
            ended = forked(_on_small_disk(killed, place, folder, size), limit=300)
            place.clear()
            yield _outcome(killed, size, ended)


def _quiet(killed: Killed, place: ServedFolder) -> Path:
    kept = place.root / killed.name
    place.case.mkdir()
    done(*killed.arguments(place.case), limit=limit(killed))
    place.case.rename(kept)
    if killed.is_remote:
        place.cache.rename(_cache_of(kept))
    return kept


def _cache_of(kept: Path) -> Path:
    return kept.with_name(f"{kept.name}, cache")


def _size(folder: Path, draw: random.Random) -> int:
    """Less than a quiet run leaves, in bytes of whole pages."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    whole = sum(-(-path.stat().st_size // PAGE) * PAGE for path in files)
    return max(PAGE, int(draw.random() * whole) // PAGE * PAGE)


def _on_small_disk(
    killed: Killed, place: ServedFolder, quiet: Path, size: int
) -> Callable[[], Any]:
    """Both runs, in a child that may mount what it likes; `size` 0: nothing can be written. Of a
    command with URLs, it is the cache that is on that disk.
    """

    def work() -> list[str]:
        disk, most = place.cache if killed.is_remote else place.case, limit(killed)
        _own_mounts()
        _mount(disk, max(size, PAGE), 0)
        if not size:
            _mount(disk, PAGE, REMOUNT | READ_ONLY)
        first = forked(work_of(killed, place), limit=most)
        verdict, detail = _first_verdict(first)
        if verdict is not None:
            return [verdict, detail]
        _mount(disk, PLENTY, REMOUNT)
        again = forked(work_of(killed, place), limit=most)
        already = first.code == 0 and "already exists" in again.last
        if again.code != 0 and not already:
            return [Verdict.UNEXPECTED, f"with room: {again.code}, {again.last}"]
        if found := differences(killed, place.case, quiet):
            return [Verdict.SILENT, "; ".join(found)]
        if found := left_over(place.case, quiet):
            return [Verdict.LEFT_OVER, ", ".join(found)]
        return [Verdict.FINISHED if first.code == 0 else Verdict.RESUMED, first.last]

    return work


def _first_verdict(first: Ended) -> tuple[Verdict | None, str]:
    """What is wrong with the end of a command that ran out of room, if anything is."""
    if first.code is None:
        return Verdict.HANG, ""
    told = first.last.startswith("leakscope: ") and "Unexpected" not in first.err
    if first.code != 0 and not (first.code == 2 and told and "Traceback" not in first.err):
        return Verdict.UNEXPECTED, f"{first.code}, {first.err[-300:]}"
    return None, ""


def _outcome(killed: Killed, size: int, ended: Ended) -> Outcome:
    name = f"a disk of {size:,} bytes" if size else "a disk that cannot be written to"
    if ended.value is None:
        return Outcome(killed.name, name, Verdict.UNEXPECTED, f"{ended.code}, {ended.err[-300:]}")
    verdict, detail = ended.value
    return Outcome(killed.name, name, Verdict(verdict), detail)


def _own_mounts() -> None:
    """A mount namespace, as root or as whoever may be root in a namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    kinds = NEW_MOUNTS if user == 0 else NEW_MOUNTS | NEW_USER
    _checked(libc.unshare(kinds))
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    private, recursive = 1 << 18, 1 << 14
    _checked(libc.mount(b"none", b"/", None, private | recursive, None))


def _mount(place: Path, size: int, flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"size={size}".encode()
    _checked(libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", flags, options))


def _checked(code: int) -> None:
    if code:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
