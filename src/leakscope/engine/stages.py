"""Stages: maps over shards, or pieces of them. Every output is a file of its own, named after the
digest of what went into it, so a killed run resumes and never mixes settings. An engine runs them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from leakscope.engine.progress import Progress, silent, tell_damaged

Work = Callable[[int, Path], None]


class Stage(Protocol):
    """Work on one shard after another. It must be picklable to run on several processes."""

    @property
    def name(self) -> str:
        """Begins the names of the output files."""
        ...

    def start(self) -> Work:
        """Load what the work needs, once a process; the work writes shard i's output to a path,
        whole or not at all.
        """
        ...


def loads_model(stage: Stage) -> bool:
    """Whether a stage says that its start loads a model, by an attribute of this name: a cluster
    gives it workers of its own, each with a GPU if there are any, for as long as it runs.
    """
    return bool(getattr(stage, "loads_model", False))


def reads_outputs(stage: Stage) -> bool:
    """Whether a stage says that it reads outputs of earlier stages, by an attribute of this name:
    they are on the machine that asked for them, which others may not see.
    """
    return bool(getattr(stage, "reads_outputs", False))


def suffix_of(stage: Stage) -> str:
    """What the names of a stage's outputs end with, which it may say by an attribute `suffix`."""
    return str(getattr(stage, "suffix", ".parquet"))


def output_of(stage: str, key: str, folder: Path, suffix: str = ".parquet") -> Path:
    """Where the output of a stage of this name for a shard is."""
    return folder / f"{stage.replace(' ', '-')}-{key}{suffix}"


def output_paths(stage: Stage, keys: Sequence[str], folder: Path) -> list[Path]:
    """Where the outputs of a stage are."""
    return [output_of(stage.name, key, folder, suffix_of(stage)) for key in keys]


class Engine(Protocol):
    """Runs stages: here, on several processes, or elsewhere. The outputs are the same."""

    def map(
        self,
        stage: Stage,
        keys: list[str],
        folder: Path,
        *,
        sizes: Sequence[int] | None = None,
        unit: str = "",
        keep: Callable[[Path], bool] = Path.exists,
        progress: Progress = silent,
    ) -> list[Path]:
        """The output of `stage` for each shard, in order; those that exist already are kept, if
        `keep` finds them good.

        `keys[i]` is the digest of everything that decides the output for shard i. Progress is told
        in `sizes[i]`, so many of a `unit` for shard i, or else in shards.
        """
        ...


class DueShards:
    """Which outputs of a stage are still to be made, and how far that has come. One that several
    shards share, since the same goes into it, is made once. Those that are there but not good are
    named.
    """

    def __init__(
        self,
        stage: Stage,
        keys: list[str],
        folder: Path,
        sizes: Sequence[int] | None,
        unit: str,
        keep: Callable[[Path], bool],
        progress: Progress,
    ) -> None:
        self.targets = output_paths(stage, keys, folder)
        first: dict[Path, int] = {}
        for index, target in enumerate(self.targets):
            first.setdefault(target, index)
        self.due = [index for target, index in first.items() if not keep(target)]
        there = [self.targets[index] for index in self.due if self.targets[index].exists()]
        tell_damaged(there, progress)
        self._sizes = [1] * len(self.targets) if sizes is None else list(sizes)
        self._total = sum(self._sizes)
        self._done = self._total - sum(self._sizes[index] for index in self.due)
        self._name, self._unit, self._progress = stage.name, unit, progress
        self._tell()

    def made(self, index: int) -> None:
        """The output for a shard is there now."""
        self._done += self._sizes[index]
        self._tell()

    def _tell(self) -> None:
        self._progress(self._name, self._done, self._total, self._unit)
