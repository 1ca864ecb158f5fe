"""Run work in a child of this process, which has everything imported: in bounded time, watched for
what it starts, and stopped by a signal where that is asked for.

The parent must have no threads of its own when it forks, so it never trains or scores.
"""

import io
import json
import os
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT = 120.0
"""Seconds that one piece of work may take; machines are shared."""
IDLE = 30.0
"""Seconds without work, also of the processes that it has started, after which it waits for
something that never comes."""
UNCAUGHT = 70
PICKLED_BY_LIBRARIES = ("numba", "numpy", "llvmlite")
"""Numba keeps compiled kernels, our own, in a cache of pickles."""
HARMLESS = ("copyreg._reconstructor", "builtins.object")


@dataclass(frozen=True)
class Ended:
    """How a piece of work ended."""

    code: int | None
    """Its exit code, minus the signal that ended it, or None: it was stopped after its limit."""
    out: str
    err: str
    seconds: float
    peak: int
    """Bytes of memory at most."""
    ran: tuple[str, ...]
    """Programs, pickles and connections that it started, but for git."""
    value: Any = None
    """What the work returned, through JSON."""

    @property
    def last(self) -> str:
        """The last line of what it said."""
        lines = self.err.strip().splitlines()
        return lines[-1] if lines else ""


@dataclass(frozen=True)
class Interruption:
    """A signal for the work: after so many seconds."""

    after: float
    number: int = signal.SIGKILL


def command(*arguments: object) -> Callable[[], None]:
    """The work of a leakscope command, as a user gives it."""
    given = ["leakscope", *map(str, arguments)]

    def work() -> None:
        from leakscope.cli.app import main

        sys.argv = given
        main()

    return work


def forked(
    work: Callable[[], Any],
    *,
    limit: float = LIMIT,
    interruption: Interruption | None = None,
    cwd: Path | None = None,
) -> Ended:
    """Run `work` in a child and wait for its end."""
    with tempfile.TemporaryDirectory(prefix="trial-") as name:
        folder = Path(name)
        begun, begins = os.pipe()
        sys.stdout.flush(), sys.stderr.flush()
        child = os.fork()
        if child == 0:
            os.close(begun)
            _be_child(work, folder, begins, cwd)
        os.close(begins)
        os.read(begun, 1)
        os.close(begun)
        begin = time.monotonic()
        code, peak = _wait(child, limit, interruption)
        seconds = time.monotonic() - begin
        ran = (folder / "ran").read_text() if (folder / "ran").exists() else ""
        value = folder / "value"
        return Ended(
            code=code,
            out=(folder / "out").read_text(errors="replace"),
            err=(folder / "err").read_text(errors="replace"),
            seconds=seconds,
            peak=peak,
            ran=tuple(ran.splitlines()),
            value=json.loads(value.read_text()) if value.exists() else None,
        )


def _wait(child: int, limit: float, interruption: Interruption | None) -> tuple[int | None, int]:
    """(its exit code, its peak of memory in bytes); what outlives it in its session is killed."""
    handle = os.pidfd_open(child)
    try:
        if interruption is not None and not _ended(handle, interruption.after):
            signal.pidfd_send_signal(handle, interruption.number)
        in_time = _ended_in_time(child, handle, limit)
    finally:
        os.close(handle)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    peak = usage.ru_maxrss * 1024
    return (os.waitstatus_to_exitcode(status) if in_time else None), peak


def _ended(handle: int, seconds: float) -> bool:
    ready, _, _ = select.select([handle], [], [], max(0.0, seconds))
    return bool(ready)


def _ended_in_time(child: int, handle: int, limit: float) -> bool:
    """Wait until a process has ended, `limit` has passed, or it has slept for `IDLE` seconds, as
    one does that waits for a pipe; and so have those that it has started.
    """
    begin = moved = time.monotonic()
    before = None
    while not _ended(handle, 0.5):
        now, state = time.monotonic(), _state(child)
        if state != before or not all(each.startswith(("S", "Z")) for each in state):
            before, moved = state, now
        if now - begin > limit or now - moved > IDLE:
            return False
    return True


def _state(leader: int) -> set[str]:
    """Of each process of a session: its number, whether it runs or sleeps, and the processor time
    that it has had.
    """
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader:
                found.add(" ".join((fields[0], folder.name, *fields[11:15])))
    return found


def _be_child(work: Callable[[], Any], folder: Path, begins: int, cwd: Path | None) -> None:
    """Run the work and end this process; nothing returns to the parent's code."""
    code = UNCAUGHT
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, name in ((1, "out"), (2, "err")):
            file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(file, number)
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(n, "w", closefd=False)) for n in (1, 2)
        )
        if cwd is not None:
            os.chdir(cwd)
        sys.addaudithook(_watch(folder / "ran"))
        os.write(begins, b"x")
        value = work()
        (folder / "value").write_text(json.dumps(value))
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(code)


def _watch(ran: Path) -> Callable[[str, tuple[Any, ...]], None]:
    """An audit hook that notes what is started."""
    file = os.open(ran, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def hook(event: str, given: tuple[Any, ...]) -> None:
        said = None
        if event == "subprocess.Popen":
            program = Path(os.fsdecode(given[0])).name
            said = None if program == "git" else program
        elif event == "pickle.find_class":
            name = f"{given[0]}.{given[1]}"
            known = name in HARMLESS or name.split(".", maxsplit=1)[0] in PICKLED_BY_LIBRARIES
            said = None if known else name
        elif event in ("os.system", "os.exec", "os.posix_spawn", "socket.connect"):
            said = str(given[:2])
        if said is not None:
            os.write(file, f"{event} {said!r}\n".encode())

    return hook
