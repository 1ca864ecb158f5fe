"""What a training would take, from its first steps, taken in a folder that is thrown away."""

import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from leakscope.auditing.forecasting.peak_memory import peak_memory
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.models.word.networks import make_network
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.work_forecast import Forecast, ForecastStage
from leakscope.training.train_settings import TrainSettings

ENOUGH = 3.0
"""Seconds of steps that are timed."""
CHECKPOINTS = 2
"""While one takes the place of the other."""
COPIES = 3
"""Of the weights in a checkpoint: the optimizer has two numbers for each."""
FLOAT = 4  # bytes of a weight

Begin = Callable[[Path, Progress], object]
"""Trains into a folder, and tells its progress."""


@dataclass(frozen=True)
class TimedSteps:
    """The first steps of a training."""

    seconds: float
    """Of one step."""
    total: int
    """Steps of the whole training."""
    peak: int
    """Bytes of memory so far."""


class _EnoughError(Exception):
    """Not an error: enough steps were seen."""


def timed_steps(begin: Begin, clock: Callable[[], float] = time.perf_counter) -> TimedSteps:
    """Begin a training and leave it. The first step is not timed, since it also sets up."""
    seen: list[tuple[float, int]] = []
    of = 0

    def watch(stage: str, done: int, total: int | None = None, note: str = "") -> None:
        nonlocal of
        if stage != "train" or total is None:
            return
        of = total
        seen.append((clock(), done))
        if seen[-1][0] - seen[0][0] >= ENOUGH:
            raise _EnoughError

    with tempfile.TemporaryDirectory(prefix="leakscope-forecast-") as name:
        begun = clock()
        with suppress(_EnoughError):
            begin(Path(name) / "model", watch)
    if not seen:
        raise LeakscopeError("The training takes no step, so nothing can be timed.")
    (first, at), (last, to) = seen[0], seen[-1]
    if to == at:  # the only step
        first, at = begun, 0
    return TimedSteps((last - first) / (to - at), of, peak_memory())


def training_forecast(
    corpus: Corpus, settings: TrainSettings, begin: Begin, done: int = 0
) -> Forecast:
    """Of a training of which `done` steps are kept."""
    timed = timed_steps(begin)
    again = f"; {done:,} are done" if done else ""
    stage = ForecastStage(
        name="train",
        work=f"{corpus.manifest.train.words:,} words, {settings.epochs} times: "
        f"{timed.total:,} steps{again}",
        seconds=(timed.total - done) * timed.seconds,
    )
    notes = ["Measuring validation perplexities and writing snapshots come on top."]
    if settings.until_perplexity is not None:
        notes.append("It may stop before, at the perplexity that was asked for.")
    return Forecast(
        stages=(stage,),
        memory=timed.peak,
        disk=_disk(corpus, settings, timed.total),
        notes=tuple(notes),
    )


def _disk(corpus: Corpus, settings: TrainSettings, steps: int) -> int:
    """The model, its snapshots, and checkpoints."""
    words = min(settings.vocabulary, corpus.manifest.lexicon)
    network = make_network(settings.architecture, words + 2, torch.Generator())
    size = FLOAT * sum(weight.numel() for weight in network.parameters())
    every = settings.snapshot_steps
    snapshots = settings.epochs if every is None else steps // every
    return size * (1 + snapshots + CHECKPOINTS * COPIES)
