"""The ledger: a record of every step of private training, written before its noise is added.

`privacy.jsonl` in the training's directory is plain text and only ever appended to: a line with
the terms when the training begins or resumes, then one line a step, on the disk before the step is
taken. What a crash loses of the training is in the ledger all the same and counts as spent, since
nobody can know who has seen it. So the epsilon of a resumed training is never too low.
"""

import fcntl
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from leakscope.records.errors import LeakscopeError, OtherTrainingError
from leakscope.records.settings_changes import changes_between
from leakscope.training.dp.accounting.phases import Phase, merged
from leakscope.training.dp.dp_settings import LEDGER
from leakscope.training.dp.protected_unit import Unit

FORMAT = 1


@dataclass(frozen=True)
class Terms:
    """What must stay the same from step to step for its noise to be worth what is accounted."""

    text: str
    """Digest of what is trained on."""
    unit: Unit
    units: int
    """Users (or documents) of the training text."""
    rate: float
    noise_multiplier: float
    clip: float
    words_per_user: int
    insecure: bool
    """Whether noise and draws come from a seed."""


class _Opening(BaseModel):
    """A line that begins a training or resumes it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ledger: int
    done: int
    """Steps in the checkpoint that it goes on from."""
    terms: Terms


class _Step(BaseModel):
    """A line for a step about to be taken."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    spent: int
    """Steps spent with this one, also those lost in crashes: 1, 2, 3, ..."""
    step: int
    """The training's own number of the step, from 0."""


_LINE: TypeAdapter[_Opening | _Step] = TypeAdapter(_Opening | _Step)


class Ledger:
    """An open ledger. Call `begin_step` before the noise of each step is added."""

    def __init__(self, path: Path, file: int, past: "_Past", terms: Terms, done: int) -> None:
        self._past, self._terms, self._file = past, terms, file
        opening = _Opening(ledger=FORMAT, done=done, terms=terms)
        # A torn last line is closed here and stays in the file.
        self._append(("\n" if past.torn else "") + opening.model_dump_json())
        if past.new:
            _sync_directory(path.parent)
        if not self._past.periods or self._past.periods[-1][0] != terms:
            self._past.periods.append((terms, 0))

    @property
    def spent(self) -> int:
        """Steps begun so far, those lost in crashes included."""
        return sum(steps for _, steps in self._past.periods)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """What has been spent, for the accountant."""
        return phases_of(self._past.periods)

    def begin_step(self, step: int) -> None:
        """Record that the training's step number `step` (from 0) is about to add its noise.

        When this returns, the record is on the disk.
        """
        self._append(_Step(spent=self.spent + 1, step=step).model_dump_json())
        terms, steps = self._past.periods[-1]
        self._past.periods[-1] = (terms, steps + 1)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _append(self, line: str) -> None:
        data = (line + "\n").encode()
        if os.write(self._file, data) != len(data):
            raise LeakscopeError("The privacy ledger could not be written; is the disk full?")
        _sync(self._file)


@dataclass
class _Past:
    """What a ledger says so far."""

    periods: list[tuple[Terms, int]]
    """Steps spent under the same terms, in order."""
    torn: bool
    """Whether the last line has no end."""
    new: bool


def open_ledger(
    out: Path, terms: Terms, done: int, *, change: bool = False, calibrated: bool = False
) -> Ledger:
    """Begin the ledger of the training in the directory `out`, or resume it after `done` steps of
    the training that a checkpoint holds (0: from the beginning).

    Other terms than before are refused unless `change` says that they are meant to change;
    `calibrated`: the noise was made from other settings, which the error then names.
    """
    path = out / LEDGER
    if done and not path.exists():
        raise LeakscopeError(
            f"{out} has a checkpoint but no {LEDGER}, so what it has spent is not known; train "
            f"anew into another --out."
        )
    file = _locked(path)
    try:
        return _opened(path, file, terms, done, change=change, calibrated=calibrated)
    except BaseException:
        os.close(file)
        raise


def _opened(
    path: Path, file: int, terms: Terms, done: int, *, change: bool, calibrated: bool
) -> Ledger:
    """The ledger in an open file that is this process's alone."""
    if not os.fstat(file).st_size and not done:
        return Ledger(path, file, _Past([], torn=False, new=True), terms, done)
    past = _read(path)
    if sum(steps for _, steps in past.periods) < done:
        raise _edited(path)
    if past.periods and past.periods[-1][0] != terms and not change:
        changes = _differences(past, terms, calibrated=calibrated)
        raise OtherTrainingError(
            f"{path.parent} was trained with other privacy settings ({changes}); repeat them, or "
            f"train into another --out.",
            changes,
        )
    return Ledger(path, file, past, terms, done)


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
    return phases_of(_read(out / LEDGER).periods)


def phases_of(periods: list[tuple[Terms, int]]) -> tuple[Phase, ...]:
    """Periods as the accountant takes them, those with the same noise and rate together."""
    return merged(Phase(terms.noise_multiplier, terms.rate, steps) for terms, steps in periods)


def _read(path: Path) -> _Past:
    """Read a ledger. A line cut short by a crash counts as a step; any other that cannot be read,
    or is out of order, means that the file was changed.
    """
    *lines, last = path.read_bytes().split(b"\n")
    past = _Past([], torn=bool(last), new=False)
    count = 0
    for kind, line in _lines(path, [*lines, last] if last else lines):
        if kind == "opening":
            if not past.periods or past.periods[-1][0] != line.terms:
                past.periods.append((line.terms, 0))
            continue
        count += 1
        if kind == "step" and line.spent != count:
            raise _edited(path)
        if not past.periods:
            if kind == "step":
                raise _edited(path)
            count -= 1  # the very first line was torn: no step can have begun
            continue
        terms, steps = past.periods[-1]
        past.periods[-1] = (terms, steps + 1)
    return past


def _lines(path: Path, lines: list[bytes]) -> Iterator[tuple[str, Any]]:
    """Lines with their kind: opening, step or torn. Only the last line of a process can be torn:
    the next one is an opening, or there is none.
    """
    parsed = [_parsed(line) for line in lines]
    for i, line in enumerate(parsed):
        if isinstance(line, _Opening):
            if line.ledger != FORMAT:
                raise LeakscopeError(f"{path} has a format that this version cannot read.")
            yield "opening", line
        elif isinstance(line, _Step):
            yield "step", line
        elif i + 1 == len(parsed) or isinstance(parsed[i + 1], _Opening):
            yield "torn", None
        else:
            raise _edited(path)


def _parsed(line: bytes) -> _Opening | _Step | None:
    try:
        return _LINE.validate_json(line)
    except ValidationError:
        return None


def _differences(past: _Past, terms: Terms, *, calibrated: bool) -> str:
    """The settings that differ from the last ones."""
    before, now = asdict(past.periods[-1][0]), asdict(terms)
    found = ["another text"] if before.pop("text") != now.pop("text") else []
    found += changes_between(before, now)
    if calibrated and before["noise_multiplier"] != now["noise_multiplier"]:
        found.append("where the noise follows from target epsilon, delta, rate and epochs")
    return ", ".join(found)


def _edited(path: Path) -> LeakscopeError:
    return LeakscopeError(
        f"{path} is damaged or was changed, so what the training has spent is not known; train "
        f"anew into another --out."
    )


def _sync(file: int) -> None:
    getattr(os, "fdatasync", os.fsync)(file)  # macOS has only the second


def _sync_directory(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
