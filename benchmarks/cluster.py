"""Two workers against one for scoring and counting on Ray, on a cluster that is started here."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import material
from benchmarks.counting import drawn_sequences
from benchmarks.lines import Line
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_subject import load_word_level
from leakscope.corpus.store import Corpus
from leakscope.engine.cluster.ray_engine import RayEngine
from leakscope.leakage.correct_runs.corpus_scoring import CorpusScoring
from leakscope.leakage.counts.corpus_counting import CorpusCounting
from leakscope.leakage.counts.trie import Trie
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.records.runs.report_settings import ReportSettings

REPEATS = 5
FROM, TO = 0.2, 0.9
"""The shares of the words between which time is taken: all workers have loaded the model, and none
has run out of work.
"""


class Steady(NamedTuple):
    """Steady work, without the start of the cluster and of the processes."""

    speed: float
    """Words a second."""
    cost: float
    """Seconds of processors for a word, of this process and of all of the cluster."""


def spent() -> float:
    """Seconds of processors, of this process and of the cluster whose token it has."""
    token = os.environ["RAY_AUTH_TOKEN_PATH"].encode()
    ticks = 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if path.name == str(os.getpid()) or token in (path / "environ").read_bytes():
                ticks += sum(
                    map(int, (path / "stat").read_text().rpartition(")")[2].split()[11:13])
                )
        except OSError:
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


class Marks:
    """A progress that takes the time between two shares of the work."""

    def __init__(self) -> None:
        self.taken: list[tuple[float, float, int]] = []

    def __call__(self, stage: str, done: int, total: int | None = None, note: str = "") -> None:
        if total and len(self.taken) < 2 and done >= (FROM, TO)[len(self.taken)] * total:
            self.taken.append((time.perf_counter(), spent(), done))

    def steady(self, unit: float = 1.0) -> Steady:
        """With so many words for each step of the progress."""
        (begin, before, first), (end, after, last) = self.taken
        words = (last - first) * unit
        return Steady(words / (end - begin), (after - before) / words)


def scored(on: Corpus, model: Path, workers: int, piece: int) -> Steady:
    marks = Marks()
    with tempfile.TemporaryDirectory() as work, RayEngine(workers=workers) as engine:
        scoring = CorpusScoring(on, Path(work), engine, marks)
        load = partial(load_word_level, model, on.path, LoadingSettings(threads=1), None)
        scoring.score(AnswerIdentity("m"), load, ReportSettings(), piece)
    return marks.steady()


def counted(on: Corpus, trie: Trie, workers: int, shard_bytes: int) -> Steady:
    marks = Marks()
    with tempfile.TemporaryDirectory() as work, RayEngine(workers=workers) as engine:
        CorpusCounting(on, Path(work), engine, marks, shard_bytes).count(trie)
    return marks.steady(on.manifest.train.words / len(on.shards))


def lines(words: int = 300_000, piece: int = 4_000) -> list[Line]:
    """Medians of both, taken in turns, so that noise hits both alike."""
    on = material.corpus(words)
    model = material.model_path("gru-160-512", on)
    scoring = _compared("score", lambda workers: scored(on, model, workers, piece))
    much = material.copied_corpus(words * 10, 64, 1_000_000)
    trie = Trie.empty(len(much.lexicon))
    trie.insert(*drawn_sequences(much, 20_000))
    return [*scoring, *_compared("count", lambda workers: counted(much, trie, workers, 8 << 20))]


def _compared(what: str, run: Callable[[int], Steady]) -> list[Line]:
    pairs = [tuple(run(workers) for workers in (1, 2)) for _ in range(REPEATS)]
    one, two = (statistics.median(pair[side].speed for pair in pairs) for side in (0, 1))
    ratios = ", ".join(f"{pair[1].speed / pair[0].speed:.2f}" for pair in pairs)
    costs = [statistics.median(pair[side].cost for pair in pairs) for side in (0, 1)]
    return [
        Line(
            f"{what} on Ray: two workers / one", two / one, 1.7, False,
            detail=f"{two:,.0f} words/s by two, {one:,.0f} by one; ratios in turn: {ratios}",
        ),
        Line(
            f"{what} on Ray: processor time for a word, two workers / one", costs[1] / costs[0],
            2 / 1.7, True, detail="what is lost where cores are free, whoever else uses them now",
        ),
    ]  # fmt: skip
