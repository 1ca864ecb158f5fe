"""Run a command under a limit of memory that the system enforces: a control group of its own.

This needs Linux, and the right to make control groups (root, or a delegated one).
"""

import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SECOND = Path("/sys/fs/cgroup/cgroup.controllers")
"""Is there where groups are of the second version."""
_LAUNCH = (
    "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); "
    "os.execvp(sys.argv[2], sys.argv[2:])"
)


@dataclass(frozen=True)
class Limited:
    """What a command did under its limit."""

    output: str
    peak: int
    """Bytes at most, of which pages of files count until the system takes them back."""
    anonymous: int
    """Bytes at most that are no pages of files, looked at five times a second."""


@dataclass(frozen=True)
class _Group:
    path: Path
    limit: str
    peak: str
    anonymous: str

    @property
    def members(self) -> Path:
        return self.path / "cgroup.procs"

    def anonymous_now(self) -> int:
        rows = (line.split() for line in (self.path / "memory.stat").read_text().splitlines())
        return next(int(size) for name, size in rows if name == self.anonymous)


@contextmanager
def _group(memory: int) -> Iterator[_Group]:
    name = f"leakscope-{uuid.uuid4().hex}"
    if _SECOND.exists():
        group = _Group(_SECOND.parent / name, "memory.max", "memory.peak", "anon")
    else:
        limit, peak = "memory.limit_in_bytes", "memory.max_usage_in_bytes"
        group = _Group(Path("/sys/fs/cgroup/memory") / name, limit, peak, "total_rss")
    try:
        group.path.mkdir()
    except OSError as error:
        raise SystemExit(f"no control group can be made here: {error.strerror}") from None
    try:
        (group.path / group.limit).write_text(str(memory))
        yield group
    finally:
        group.path.rmdir()


def run_limited(command: list[str], memory: int) -> Limited:
    """Run it with so many bytes; a command that fails, or is killed for want of memory, ends this
    program.
    """
    with _group(memory) as group:
        launch = [sys.executable, "-c", _LAUNCH, str(group.members), *command]
        root = Path(__file__).parent.parent
        with _watched(group) as anonymous:
            ran = subprocess.run(launch, check=False, cwd=root, stdout=subprocess.PIPE, text=True)
        peak = int((group.path / group.peak).read_text())
    if ran.returncode:
        raise SystemExit(f"it ended with code {ran.returncode} under {memory:,} bytes")
    return Limited(ran.stdout, peak, max(anonymous))


@contextmanager
def _watched(group: _Group) -> Iterator[list[int]]:
    """The group's anonymous memory at every look, while the block runs."""
    seen, ended = [group.anonymous_now()], threading.Event()

    def watch() -> None:
        while not ended.wait(0.2):
            seen.append(max(seen.pop(), group.anonymous_now()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        ended.set()
        watcher.join()
