"""What a training would take, from its first steps, taken in a folder that is thrown away."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from leakscope.auditing.forecasting.peak_memory import peak_memory
from leakscope.auditing.forecasting.rehearsal import EnoughError, rehearsal_folder
from leakscope.corpus.split import TRAIN
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.models.evaluation import evaluate
from leakscope.models.word.networks import make_network
from leakscope.models.word.word_model import WordModel
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.work_forecast import Forecast, ForecastStage, kept_said
from leakscope.training.text_sample import SAMPLE_WORDS
from leakscope.training.train_settings import TrainSettings
from leakscope.training.vocabulary import known_words

ENOUGH = 3.0
"""Seconds of steps that are timed."""
CHECKPOINTS = 2
"""While one takes the place of the other."""
COPIES = 3
"""Of the weights in a checkpoint: the optimizer has two numbers for each."""
FLOAT = 4  # bytes of a weight
MEASURED_WORDS = 10_000
"""Words on which a measurement is timed."""

Begin = Callable[[Path, Progress], object]
"""Trains into a folder, and tells its progress."""


@dataclass(frozen=True)
class TimedSteps:
    """The first steps of a training."""

    seconds: float
    """Of one step."""
    total: int
    """Steps of the whole training."""
    set_up: float = 0.0
    """Seconds before the first step."""


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
            raise EnoughError

    with rehearsal_folder() as folder:
        begun = clock()
        with suppress(EnoughError):
            begin(folder / "model", watch)
    if not seen:
        raise LeakscopeError("The training takes no step, so nothing can be timed.")
    (first, at), (last, to) = seen[0], seen[-1]
    if to == at:  # the only step
        return TimedSteps(last - begun, of)
    seconds = (last - first) / (to - at)
    return TimedSteps(seconds, of, max(0.0, first - begun - at * seconds))


def training_forecast(
    corpus: Corpus, settings: TrainSettings, begin: Begin, done: int = 0, workers: int = 1
) -> Forecast:
    """Of a training of which `done` steps are kept."""
    timed = timed_steps(begin)
    peak = peak_memory(workers)
    steps = ForecastStage(
        name="train",
        work=f"{corpus.manifest.train.words:,} words, {settings.epochs} times: "
        f"{timed.total:,} steps{kept_said(done)}",
        seconds=max(0, timed.total - done) * timed.seconds,
    )
    notes = []
    if settings.until_perplexity is not None:
        notes.append("It may stop before, at the perplexity that was asked for.")
    times = snapshots_of(settings, timed.total)
    due = times - times * done // max(1, timed.total)
    return Forecast(
        stages=(
            ForecastStage(name="set up", work="text and network", seconds=timed.set_up),
            steps,
            measured_after_snapshots(corpus, settings, due),
        ),
        memory=max(peak, peak_memory(workers)),
        disk=_disk(corpus, settings, times),
        notes=tuple(notes),
    )


def snapshots_of(settings: TrainSettings, steps: int) -> int:
    """How many snapshots a training of so many steps has, about."""
    every = settings.snapshot_steps
    return settings.epochs if every is None else max(1, steps // every)


def measured_after_snapshots(corpus: Corpus, settings: TrainSettings, times: int) -> ForecastStage:
    """Validation documents, and a sample of the training text, are read after each snapshot."""
    held_out = corpus.manifest.validation.words
    read = held_out + min(SAMPLE_WORDS, corpus.manifest.train.words)
    seconds = times * read * seconds_a_word(corpus, settings)
    return ForecastStage(name="measure", work=f"{read:,} words, {times} times", seconds=seconds)


def seconds_a_word(corpus: Corpus, settings: TrainSettings) -> float:
    """In which a model like the one that will be trained gives a word its probability."""
    model, documents = untrained(corpus, settings), corpus.documents(TRAIN)
    some = next((chunk for chunk in documents if len(chunk)), None)
    if some is None:
        return 0.0
    part = next(some.pieces(MEASURED_WORDS))
    evaluate(model, [next(some.pieces(1))])  # loads and compiles
    begin = time.perf_counter()
    evaluate(model, [part])
    return (time.perf_counter() - begin) / max(1, len(part.ids))


def untrained(corpus: Corpus, settings: TrainSettings) -> WordModel:
    """A model with the shape of the one that will be trained."""
    words = known_words(corpus.lexicon, settings.vocabulary, settings.vocabulary_users)
    network = make_network(settings.architecture, len(words) + 2, torch.Generator())
    return WordModel(network, words).reading(corpus.lexicon)


def _disk(corpus: Corpus, settings: TrainSettings, snapshots: int) -> int:
    """The model, its snapshots, and checkpoints."""
    words = min(settings.vocabulary, corpus.manifest.lexicon)
    network = make_network(settings.architecture, words + 2, torch.Generator())
    size = FLOAT * sum(weight.numel() for weight in network.parameters())
    return size * (1 + snapshots + CHECKPOINTS * COPIES)
