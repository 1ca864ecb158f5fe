"""The ledger: a record of every step of private training, written before its noise is added.

`privacy.jsonl` in the training's directory is plain text and only ever appended to: a line with
the terms when the training begins or resumes, then one line a step, on the disk before the step is
taken, each bound to all lines before it (see `ledger_lines`). What a crash loses of the training is
in the ledger all the same and counts as spent, since nobody can know who has seen it. So the
epsilon of a resumed training is never too low.
"""

import fcntl
import os
from dataclasses import asdict
from pathlib import Path

from leakscope.records.errors import LeakscopeError, OtherTrainingError
from leakscope.records.settings_changes import changes_between
from leakscope.training.dp.accounting.phases import Phase, merged
from leakscope.training.dp.dp_settings import LEDGER
from leakscope.training.dp.ledger_lines import FORMAT, Opening, Past, Step, edited, read_ledger
from leakscope.training.dp.ledger_terms import Terms

__all__ = ["Ledger", "Terms", "open_ledger", "phases_of", "read_phases"]


class Ledger:
    """An open ledger. Call `begin_step` before the noise of each step is added."""

    def __init__(self, path: Path, file: int, past: Past, terms: Terms, done: int) -> None:
        self._past, self._file = past, file
        new = not past.heads
        opening = Opening(ledger=FORMAT, done=done, terms=terms)
        # A torn last line is closed here and stays in the file.
        self._append(opening)
        past.open(opening)
        if new:
            _sync_directory(path.parent)

    @property
    def spent(self) -> int:
        """Steps begun so far, those lost in crashes included."""
        return self._past.spent

    @property
    def next_step(self) -> int:
        """The training's number of the step that comes next: so many are in the weights."""
        return self._past.next_step

    @property
    def head(self) -> str:
        """The digest of the last line: who keeps it can later tell that the ledger has all lines up
        to it.
        """
        return self._past.chain.hex()

    @property
    def phases(self) -> tuple[Phase, ...]:
        """What has been spent, for the accountant."""
        return phases_of(self._past.periods)

    def begin_step(self, step: int) -> None:
        """Record that the training's step number `step` (from 0) is about to add its noise.

        When this returns, the record is on the disk.
        """
        self._append(Step(spent=self.spent + 1, step=step))
        self._past.add_step(step)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _append(self, line: Opening | Step) -> None:
        data, digest = self._past.linked(line)
        written = os.write(self._file, data)
        if written != len(data):  # nothing follows: taken back, it is as if it never was
            os.ftruncate(self._file, os.fstat(self._file).st_size - written)
            raise LeakscopeError("The privacy ledger could not be written; is the disk full?")
        _sync(self._file)
        self._past.link(digest)


def open_ledger(
    out: Path,
    terms: Terms,
    done: int,
    *,
    change: bool = False,
    calibrated: bool = False,
    known: str | None = None,
) -> Ledger:
    """Begin the ledger of the training in the directory `out`, or resume it after `done` steps of
    the training that a checkpoint holds (0: from the beginning).

    Other terms than before are refused unless `change` says that they are meant to change;
    `calibrated`: the noise was made from other settings, which the error then names. `known`: the
    `head` of the ledger when the checkpoint was made.
    """
    path = out / LEDGER
    if done and not path.exists():
        raise LeakscopeError(
            f"{out} has a checkpoint but no {LEDGER}, so what it has spent is not known; train "
            f"anew into another --out."
        )
    file = _locked(path)
    try:
        past = _past(path, file, done, known)
        _check_terms(path, past, terms, change=change, calibrated=calibrated)
        return Ledger(path, file, past, terms, done)
    except BaseException:
        os.close(file)
        raise


def _past(path: Path, file: int, done: int, known: str | None) -> Past:
    """What an open file, which is this process's alone, says so far."""
    past = read_ledger(path) if os.fstat(file).st_size or done else Past()
    if past.spent < done or (known is not None and known not in past.heads):
        raise edited(path)
    return past


def _check_terms(path: Path, past: Past, terms: Terms, *, change: bool, calibrated: bool) -> None:
    if past.opened is not None and past.opened != terms and not change:
        changes = _differences(past.opened, terms, calibrated=calibrated)
        raise OtherTrainingError(
            f"{path.parent} was trained with other privacy settings ({changes}); repeat them, or "
            f"train into another --out.",
            changes,
        )


def _locked(path: Path) -> int:
    """The file, open to be added to by nobody else: two trainings would not count each other."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise LeakscopeError(
            f"Another training is writing into {path.parent}; wait for it, or choose another --out."
        ) from None
    return file


def read_phases(out: Path) -> tuple[Phase, ...]:
    """What the training in the directory `out` has spent so far."""
    if not (out / LEDGER).exists():
        raise LeakscopeError(f"{out} has no {LEDGER}, so what it has spent is not known.")
    return phases_of(read_ledger(out / LEDGER).periods)


def phases_of(periods: list[tuple[Terms, int]]) -> tuple[Phase, ...]:
    """Periods as the accountant takes them, those with the same noise and rate together."""
    return merged(Phase(terms.noise_multiplier, terms.rate, steps) for terms, steps in periods)


def _differences(opened: Terms, terms: Terms, *, calibrated: bool) -> str:
    """The settings that differ from those of the last opening."""
    before, now = asdict(opened), asdict(terms)
    found = ["another text"] if before.pop("text") != now.pop("text") else []
    found += changes_between(before, now)
    if calibrated and before["noise_multiplier"] != now["noise_multiplier"]:
        found.append("where the noise follows from target epsilon, delta, rate and epochs")
    return ", ".join(found)


def _sync(file: int) -> None:
    getattr(os, "fdatasync", os.fsync)(file)  # macOS has only the second


def _sync_directory(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
