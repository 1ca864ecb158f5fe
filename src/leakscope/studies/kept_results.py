"""The results of a study, each kept under the digest of what it is made from.

A study is a list of steps: trainings and measurements. Run again, also with other settings, it
makes only what is missing. A step that was killed is taken up where its own work can be, and one
whose files are no longer as they were written is made again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from leakscope.engine.progress import Progress, silent, tell_damaged
from leakscope.records.artifacts import (
    digest_of,
    digest_of_file,
    private_directory,
    read_json,
    write_json,
)
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import remove, unmark

Clock = Callable[[], float]


class StepRecord(BaseModel):
    """The file beside a step's result: it is there when the result is whole."""

    model_config = ConfigDict(frozen=True)

    kind: str
    made_from: dict[str, Any]
    leakscope: str
    """The version that made it."""
    seconds: float
    """How long the last attempt took; one that took up a killed one, only what was left."""
    files: dict[str, str] | None = None
    """The digest of each of its files, by name; None in records of older versions."""


@dataclass(frozen=True)
class Step:
    """Something that a study makes. `make` writes it to a path, as a file or a directory, and
    resumes there if it was killed.
    """

    kind: str
    """Begins the name of the result."""
    made_from: Mapping[str, Any]
    """All that decides the result, as plain data: settings, and the digests of other results."""
    make: Callable[[Path], object]
    is_whole: Callable[[Path], bool] = lambda path: False
    """Whether a result that has no record yet needs nothing more than that."""

    @property
    def digest(self) -> str:
        """Of all that decides the result."""
        return digest_of([self.kind, dict(self.made_from), version("leakscope")])

    @property
    def name(self) -> str:
        """Of the result in the study's folder."""
        return f"{self.kind}-{self.digest}"


class KeptResults:
    """The folder of a study's results. The caller has claimed it, so nobody else writes there."""

    def __init__(self, folder: Path, clock: Clock, progress: Progress = silent) -> None:
        """`progress` is told what is damaged."""
        self._folder, self._clock, self._progress = folder, clock, progress
        self._verified: set[str] = set()
        self.made = 0
        """Results that were made, not found."""

    def __getitem__(self, step: Step) -> Path:
        """Where the result of a step is, made now if it is not there yet."""
        target = self._folder / step.name
        if self.has(step):
            return target
        if self._known(step) is not None:  # damaged, or removed
            tell_damaged([target] if target.exists() else [], self._progress)
            self.forget(step)
        private_directory(self._folder)
        begin = self._clock()
        if not (target.exists() and step.is_whole(target)):
            step.make(target)
        if not target.exists():
            raise LeakscopeError(f"The step {step.kind} of the study left no result.")
        unmark(target)
        record = StepRecord(
            kind=step.kind,
            made_from=dict(step.made_from),
            leakscope=version("leakscope"),
            seconds=self._clock() - begin,
            files=_digests(target),
        )
        write_json(self._record_of(step), record)
        self._verified.add(step.name)
        self.made += 1
        return target

    def has(self, step: Step) -> bool:
        """Whether the result of a step is there, as it was written."""
        known, target = self._known(step), self._folder / step.name
        if known is None or not target.exists():
            return False
        if step.name not in self._verified:
            if known.files is not None and not _are_intact(target, known.files):
                return False
            self._verified.add(step.name)
        return True

    def find(self, step: Step) -> Path | None:
        """Where the result of a step is; None: it is not there. Nothing is written."""
        return self._folder / step.name if self.has(step) else None

    def of_kind(self, kind: str) -> list[tuple[dict[str, Any], Path]]:
        """What each finished result of a kind and of this version is made from, and where it is."""
        found = []
        for path in sorted(self._folder.glob(f"{kind}-*.json")):
            record = read_json(path, StepRecord, "a step of a study")
            target = path.with_suffix("")
            named = f"{kind}-{_digest(record)}" == target.name
            if named and record.leakscope == version("leakscope") and target.exists():
                found.append((record.made_from, target))
        return found

    def forget(self, step: Step) -> None:
        """Remove the result of a step, so that it is made again."""
        target = self._folder / step.name
        if target.exists():
            remove(target)
        self._record_of(step).unlink(missing_ok=True)  # last: it tells that a part is not all

    def _known(self, step: Step) -> StepRecord | None:
        path = self._record_of(step)
        if not path.exists():
            return None
        found = read_json(path, StepRecord, "a step of a study")
        if _digest(found) != step.digest:
            raise LeakscopeError(
                f"{path} is damaged or was changed; remove it and what it names, and run the study "
                f"again."
            )
        return found

    def _record_of(self, step: Step) -> Path:
        return self._folder / f"{step.name}.json"


def _digests(target: Path) -> dict[str, str]:
    """Of every file of a result, by its name below it; that of a single file has no name."""
    if target.is_file():
        return {"": digest_of_file(target)}
    paths = sorted(path for path in target.rglob("*") if path.is_file())
    return {path.relative_to(target).as_posix(): digest_of_file(path) for path in paths}


def _are_intact(target: Path, files: Mapping[str, str]) -> bool:
    """Whether these are as they were written; there may be others, which later steps have added."""
    paths = {target / name if name else target: digest for name, digest in files.items()}
    return all(path.is_file() and digest_of_file(path) == known for path, known in paths.items())


def _digest(record: StepRecord) -> str:
    """Of what a record says, as `Step.digest`."""
    return digest_of([record.kind, record.made_from, record.leakscope])
