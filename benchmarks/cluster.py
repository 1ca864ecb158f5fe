"""Two workers against one for scoring on Ray, on a cluster that is started here."""

import os
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import material
from benchmarks.lines import Line
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_subject import load_word_level
from leakscope.corpus.store import Corpus
from leakscope.engine.cluster.ray_engine import RayEngine
from leakscope.leakage.correct_runs.corpus_scoring import CorpusScoring
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


def scored(on: Corpus, model: Path, workers: int, piece: int) -> Steady:
    marks: list[tuple[float, float, int]] = []

    def progress(stage: str, done: int, total: int | None = None, note: str = "") -> None:
        if total and done >= (FROM, TO)[len(marks) % 2] * total and len(marks) < 2:
            marks.append((time.perf_counter(), spent(), done))

    with tempfile.TemporaryDirectory() as work, RayEngine(workers=workers) as engine:
        scoring = CorpusScoring(on, Path(work), engine, progress)
        load = partial(load_word_level, model, on.path, LoadingSettings(threads=1), None)
        scoring.score("m", load, ReportSettings(), piece)
    (begin, before, first), (end, after, last) = marks
    return Steady((last - first) / (end - begin), (after - before) / (last - first))


def lines(words: int = 300_000, piece: int = 4_000) -> list[Line]:
    """Medians of both, taken in turns, so that noise hits both alike."""
    on = material.corpus(words)
    model = material.model_path("gru-160-512", on)
    pairs = [tuple(scored(on, model, workers, piece) for workers in (1, 2)) for _ in range(REPEATS)]
    one, two = (statistics.median(pair[side].speed for pair in pairs) for side in (0, 1))
    ratios = ", ".join(f"{pair[1].speed / pair[0].speed:.2f}" for pair in pairs)
    costs = [statistics.median(pair[side].cost for pair in pairs) for side in (0, 1)]
    return [
        Line(
            "score on Ray: two workers / one", two / one, 1.7, False,
            detail=f"{two:,.0f} words/s by two, {one:,.0f} by one; ratios in turn: {ratios}",
        ),
        Line(
            "score on Ray: processor time for a word, two workers / one", costs[1] / costs[0],
            2 / 1.7, True, detail="what is lost where cores are free, whoever else uses them now",
        ),
    ]  # fmt: skip
