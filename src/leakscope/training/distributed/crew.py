"""The processes of a training, as the first of them sees the others: they are started, take every
step with it, and end with it. What ends one of them ends all, with one error.
"""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import torch
import torch.distributed as dist

from leakscope.engine.private_scratch import private_scratch
from leakscope.records.errors import LeakscopeError
from leakscope.training.distributed.follower import (
    BEGIN,
    COMMAND,
    CRASHED,
    DIGEST,
    HERE,
    READY,
    REFUSED,
    SAME,
    Place,
    Task,
    follow,
)
from leakscope.training.distributed.gloo_ranks import FIRST, is_lost, joined
from leakscope.training.distributed.rank_group import OneRank, RankGroup

PATIENCE = 1800.0
"""Seconds; a step takes far less, and what comes between two steps does not count."""
_LAST_WORDS = 10.0
"""Seconds in which a process that has failed says why."""
GOES_ON = "the same command goes on from the last checkpoint"


@dataclass(frozen=True)
class _Follower:
    process: BaseProcess
    line: Connection

    def answer(self, patience: float | None = None) -> bytes:
        """What it sends next; empty if it has ended without a word, or says nothing in time."""
        with suppress(EOFError, ConnectionResetError):
            if self.line.poll(patience):
                return self.line.recv_bytes()
        return b""


class Crew:
    """All processes of a training; with no followers, this one alone."""

    def __init__(
        self,
        followers: Sequence[_Follower] = (),
        patience: float = PATIENCE,
        met: Callable[[], None] = lambda: None,
    ) -> None:
        """`met` is called when all have met."""
        self.ranks: RankGroup = OneRank()
        """What a step asks of them."""
        self._followers, self._patience, self._met = followers, patience, met

    def assemble(self) -> None:
        """Wait until all others stand where this process does."""
        self.expect(READY)
        self._met()

    def begin(self, step: int) -> None:
        """Let the others take this step; this process must take it, too."""
        self.send(step)

    @contextmanager
    def together(self) -> Iterator[None]:
        """While open: if one of the processes is lost, say why."""
        try:
            yield
        except RuntimeError as error:
            if not self._followers or not is_lost(error):
                raise
            raise self._reason() from None

    def check_digest(self, own: Callable[[], bytes]) -> None:
        """Raise unless the weights of all others have the digest that `own` gives for this
        process's.
        """
        self.send(DIGEST)
        others = self.expect(SAME)
        if others and set(others) != {own()}:
            raise LeakscopeError(
                f"The workers' weights are no longer the same, so nothing more was kept; {GOES_ON}."
            )

    def end(self) -> None:
        """Let the others go, when the last step is taken."""
        for each in self._followers:
            each.line.close()
        for each in self._followers:
            each.process.join(_LAST_WORDS)

    def kill(self) -> None:
        """End those who are still there at once; they write nothing, so nothing is left half."""
        for each in self._followers:
            each.process.kill()
            each.process.join()
            each.line.close()
            each.process.close()

    def send(self, command: int) -> None:
        """Tell all others what to do next."""
        try:
            for each in self._followers:
                each.line.send_bytes(COMMAND.pack(command))
        except (BrokenPipeError, ConnectionResetError):
            raise self._reason() from None

    def expect(self, kind: bytes) -> list[bytes]:
        """What each of the others adds to a message of this kind, which must come next."""
        found = []
        for each in self._followers:
            message = each.answer()
            if message[:1] != kind:
                raise self._reason(message)
            found.append(message[1:])
        return found

    def _reason(self, heard: bytes = b"") -> Exception:
        """Why the processes are no longer together."""
        until = time.monotonic() + _LAST_WORDS
        messages, died = [heard], False
        for each in self._followers:
            messages.append(each.answer(max(0.0, until - time.monotonic())))
            if not messages[-1]:
                each.process.join(max(0.0, until - time.monotonic()))
                died = died or not each.process.is_alive()
        for message in messages:
            if message[:1] == REFUSED:
                return LeakscopeError(message[1:].decode())
            if message[:1] == CRASHED:
                return RuntimeError("A worker process failed:\n" + message[1:].decode())
        if died:
            return LeakscopeError(
                f"A worker process died (out of memory?); {GOES_ON}, with fewer --workers if "
                f"memory is short."
            )
        return LeakscopeError(
            f"A worker process has not answered for {self._patience / 60:g} minutes; {GOES_ON}."
        )


@contextmanager
def crew_of(task: Task, workers: int, patience: float = PATIENCE) -> Iterator[Crew]:
    """So many processes for a training, this one among them; the others begin with `task`. The
    threads of this process are shared out among all.
    """
    if workers == 1:
        yield Crew()
        return
    if dist.is_initialized():
        raise LeakscopeError(
            "This process belongs to a group of torch.distributed already; train with one worker, "
            "or in a process of its own."
        )
    threads = torch.get_num_threads()
    with ExitStack() as stack:
        # They meet in a folder that only this user may read, and that is gone when they have met.
        meeting = stack.enter_context(ExitStack())
        store = meeting.enter_context(private_scratch("ls-crew")) / "store"
        own = Place(store, FIRST, workers, max(1, threads // workers), patience)
        stack.callback(torch.set_num_threads, threads)
        torch.set_num_threads(own.threads)
        crew = Crew(_started(task, own), patience, meeting.close)
        stack.callback(crew.kill)
        crew.expect(HERE)
        stack.enter_context(crew.together())
        crew.ranks = stack.enter_context(joined(store, FIRST, workers, patience))
        crew.send(BEGIN)
        yield crew
        crew.end()


def _started(task: Task, own: Place) -> list[_Follower]:
    """Start the others. Ctrl-C is for this process alone: with the signal blocked, a new process
    cannot get it before it has said so.
    """
    context = get_context("spawn")
    found = []
    resource_tracker.ensure_running()  # when it starts, it unblocks the signal
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for rank in range(1, own.size):
            ours, theirs = context.Pipe()
            process = context.Process(
                target=follow, args=(task, replace(own, rank=rank), theirs), daemon=True
            )
            process.start()
            theirs.close()
            found.append(_Follower(process, ours))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    return found
