"""The directory of a private loop: its mark and lock, and what was spent in it before."""

from contextlib import ExitStack
from pathlib import Path

from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import MARKER, claimed
from leakscope.training.dp.dp_settings import LEDGER
from leakscope.training.dp.ledger import read_phases

COMMAND = "make_private"


class _UnfinishedError(Exception):
    """Tells a claim that the loop in it may be taken up again."""


class LedgerDirectory:
    """The directory `out`, which this process alone writes into until `close()`."""

    def __init__(self, out: Path, *, done: int, restart: bool) -> None:
        """`done` steps are in a checkpoint; `restart`: steps in the ledger, but none in weights."""
        _check_begin(out, done, restart=restart)
        self.path, self._held = out, ExitStack()
        self._held.enter_context(claimed(out, COMMAND, recognised=_is_ours(out)))
        try:
            _check_begin(out, done, restart=restart)  # others may have been at it until now
        except BaseException:
            self.close(finished=False)
            raise

    def close(self, *, finished: bool) -> None:
        """Let go of the directory. It stays marked if the loop in it is not finished."""
        if finished:
            self._held.close()
        else:
            self._held.__exit__(_UnfinishedError, _UnfinishedError(), None)


def _check_begin(out: Path, done: int, *, restart: bool) -> None:
    """Refuse to begin anew where steps have been taken: they count for what comes after them."""
    if done and restart:
        raise LeakscopeError(
            "Give either done, for steps in a checkpoint, or restart, if there is none."
        )
    if not done and not restart and _spent(out):
        raise LeakscopeError(
            f"{out} holds the ledger of {_spent(out)} private steps already; to resume them, load "
            f"your checkpoint and give its number of steps as done, or choose another out. "
            f"LoopOptions(restart=True) begins anew and counts them as lost."
        )


def _spent(out: Path) -> int:
    if not (out / LEDGER).is_file():
        return 0
    return sum(phase.steps for phase in read_phases(out))


def _is_ours(out: Path) -> bool:
    """Whether a directory without a mark is that of a loop that finished, or of an older one: it
    has a ledger of steps, or nothing but a ledger.
    """
    if not (out / LEDGER).is_file():
        return False
    return bool(_spent(out)) or {entry.name for entry in out.iterdir()} <= {LEDGER, MARKER}
