"""The head of a cluster of our own: a process in a session of its own, so that Ctrl-C in a terminal
does not reach the cluster, and whatever is in that session is the cluster.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from leakscope.records.errors import LeakscopeError

_BEGIN = (
    "import sys; folder, cores, *path = sys.argv[1:]; sys.path[:] = path; "
    "from leakscope.engine.cluster import head_process, ray_client; "
    "head_process.lead(ray_client.start_head, folder, int(cores))"
)
_STARTS = 120.0
"""Seconds that a cluster may take to start."""
_ENDS = 10.0
"""Seconds that killed processes may take to go."""
_LOOK = 0.02
_PROCESSES = Path("/proc")


class HeadProcess:
    """A head that is starting, or there."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._process, self._folder = process, folder

    def address(self, given_up: Callable[[], bool]) -> str:
        """Where the cluster is, HOST:PORT, as soon as it is there."""
        place, deadline = _place(self._folder), time.monotonic() + _STARTS
        while not place.exists():
            if given_up():
                raise KeyboardInterrupt
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise LeakscopeError("Ray could not be started here; try --engine local.")
            time.sleep(_LOOK)
        return place.read_text()


@contextmanager
def head_process(folder: Path, cores: int) -> Iterator[HeadProcess]:
    """Start a cluster of this machine alone, whose files are in `folder`. At the end, all of its
    processes are killed and gone; it also ends if this process does, however it goes.
    """
    path = [each for each in sys.path if each]  # not where this process happens to be
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _BEGIN, str(folder), str(cores), *path],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        start_new_session=True,
    )
    try:
        yield HeadProcess(process, folder)
    finally:
        _kill(process.pid)
        process.communicate()


def lead(start: Callable[[Path, int], str], folder: str, cores: int) -> None:
    """In that process: start the cluster, and end it when whoever asked for it is gone."""
    following = threading.Thread(target=_follow, args=(folder,), daemon=True)
    following.start()
    place = _place(Path(folder))
    partial = place.with_suffix(".partial")
    partial.write_text(start(Path(folder), cores))
    partial.replace(place)
    following.join()


def _follow(folder: str) -> None:
    """Wait for the end of what started this process, which holds the other end of a pipe."""
    sys.stdin.buffer.read()
    _kill(os.getpid(), but=os.getpid())
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(os.getpid(), signal.SIGKILL)


def _kill(session: int, but: int | None = None) -> None:
    """Kill the processes of a session, but one, and wait until they are gone."""
    if not _PROCESSES.is_dir():  # not on Linux: at least those of the leader's group
        if but is None:
            with suppress(ProcessLookupError):
                os.killpg(session, signal.SIGKILL)
        return
    deadline = time.monotonic() + _ENDS
    while (found := _living(session) - {but}) and time.monotonic() < deadline:
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_LOOK)


def _living(session: int) -> set[int]:
    """The processes of a session, without those of which only the exit code is left."""
    found = set()
    for place in [each for each in _PROCESSES.iterdir() if each.name.isdigit()]:
        with suppress(OSError, ValueError):  # it has gone
            told = (place / "stat").read_bytes()
            state, _, _, its = told.rpartition(b")")[2].split()[:4]
            if int(its) == session and state not in (b"Z", b"X"):
                found.add(int(place.name))
    return found


def _place(folder: Path) -> Path:
    return folder / "address"
