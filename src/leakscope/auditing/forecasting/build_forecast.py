"""What a build would take, from builds of the beginning of its input."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from leakscope.auditing.forecasting.input_sample import InputSample, sample_of
from leakscope.auditing.forecasting.peak_memory import peak_memory
from leakscope.auditing.forecasting.rehearsal import (
    SET_UP,
    Clock,
    Rehearsal,
    Watch,
    rehearsal_folder,
)
from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import BUILDING, SHARDS, STAGES, build
from leakscope.corpus.building.kept_parts import KeptParts, kept_parts
from leakscope.corpus.readers.detect import detect
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.work_forecast import Forecast, ForecastStage

ENOUGH = 1.0
"""Seconds that the last rehearsal takes at least, if the input is large enough."""
FIRST_BYTES, LARGER, MOST_BYTES = 1 << 20, 4, 1 << 28
"""Bytes of the first rehearsal, how many times larger each is than the one before, and where that
ends."""
NAMES = tuple(stage.name for stage in STAGES)
WHY = "the length of a folder is not known before it is read"


class TimedBuild(NamedTuple):
    """The build of a sample."""

    seen: Rehearsal
    share: float
    """Of the input."""
    size: int
    """Bytes that were asked for, uncompressed."""


@dataclass(frozen=True)
class BuildForecaster:
    """A build that is asked for."""

    paths: list[Path]
    how: InputSettings
    settings: BuildSettings
    resources: BuildResources
    clock: Clock = time.perf_counter

    def forecast(self, out: Path | None) -> Forecast:
        """Of the build in `out`, where an earlier attempt may have left parts."""
        kept = [] if out is None else self._kept(out)
        bytes_of = [_size(path) for path in self.paths]
        work = f"{sum(bytes_of):,} bytes of input"
        before, found = peak_memory(), self._rehearsed()
        if found is None:
            whole = ForecastStage(name="build", work=work, seconds=None, reason=WHY)
            return Forecast(stages=(whole,))
        first, last = found
        stages = [self._stage(name, last, work, kept) for name in (SET_UP, *NAMES)]
        # What the first one took longer went into loading and compiling.
        once = max(0.0, first.seen.seconds - last.seen.seconds * first.share / last.share)
        begin = stages[0].model_copy(update={"seconds": (stages[0].seconds or 0.0) + once})
        return Forecast(
            stages=(begin, *stages[1:]),
            memory=self._memory(before, last),
            disk=round(last.seen.disk / last.share),
            notes=(f"Timed on a build of {100 * last.share:.3g} % of the input.",),
        )

    def _stage(
        self, name: str, timed: TimedBuild, work: str, kept: list[KeptParts]
    ) -> ForecastStage:
        there = next((each for each in kept if each.stage == name), None)
        part = 0.0 if there is None or not there.total else there.kept / there.total
        said = "" if there is None or not part else f"; {there.kept} of {there.total} parts kept"
        seconds = timed.seen.seconds_of(name) / timed.share * (1 - part)
        return ForecastStage(name=name, work=f"{work}{said}", seconds=seconds)

    def _memory(self, before: int, timed: TimedBuild) -> int:
        """What was taken on top of what the process had before, for as many threads as have a piece
        of the input in hand at once.
        """
        seen, whole = (
            min(self.resources.threads, max(1.0, size / self.resources.run_bytes))
            for size in (timed.size, timed.size / timed.share)
        )
        return before + round((peak_memory() - before) * whole / seen)

    def _kept(self, out: Path) -> list[KeptParts]:
        folder, shards = out / BUILDING, out / SHARDS
        return kept_parts(self.paths, self.how, self.settings, self.resources, folder, shards)

    def _rehearsed(self) -> tuple[TimedBuild, TimedBuild] | None:
        """The first and the last of builds of larger and larger samples, until one takes long
        enough. None: there is an input that cannot be cut.
        """
        size, found = FIRST_BYTES, self._build(FIRST_BYTES)
        first = found
        while found is not None and found.share < 1 and size < MOST_BYTES:
            if found is not first and found.seen.seconds >= ENOUGH:
                break
            size *= LARGER
            found = self._build(size)
        return None if first is None or found is None else (first, found)

    def _build(self, size: int) -> TimedBuild | None:
        sizes = [_size(path) for path in self.paths]
        whole = max(1, sum(sizes))
        with rehearsal_folder() as folder:
            samples: list[InputSample] = []
            for place, (path, bytes_) in enumerate(zip(self.paths, sizes, strict=True)):
                format, part = self.how.format or detect(path), max(1, size * bytes_ // whole)
                sample = sample_of(path, format, self.how, part, folder / f"{place}")
                if sample is None:
                    return None
                samples.append(sample)
            share = sum(s.share * bytes_ for s, bytes_ in zip(samples, sizes, strict=True)) / whole
            out = folder / "corpus"
            watch = Watch(None, self.clock, out)
            watch.start()
            build(
                [sample.path for sample in samples],
                out,
                input_settings=self.how,
                settings=self.settings,
                resources=replace(self.resources, engine="local", address=None),
                progress=watch,
            )
            return TimedBuild(watch.seen(finished=True), share, size)


def _size(path: Path) -> int:
    if not path.exists():
        raise LeakscopeError(f"{path} does not exist: check the path.")
    return path.stat().st_size if path.is_file() else 0
