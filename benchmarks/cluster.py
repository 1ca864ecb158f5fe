"""Two workers against one for scoring on Ray, on a cluster that is started here."""

import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks import material
from benchmarks.lines import Line
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_subject import load_word_level
from leakscope.corpus.store import Corpus
from leakscope.engine.ray_engine import RayEngine
from leakscope.leakage.correct_runs.corpus_scoring import CorpusScoring
from leakscope.records.runs.report_settings import ReportSettings

REPEATS = 5
FROM, TO = 0.2, 0.9
"""The shares of the words between which time is taken: all workers have loaded the model, and none
has run out of work.
"""


def words_per_second(on: Corpus, model: Path, workers: int, piece: int) -> float:
    """Of steady work, without the start of the cluster and of the processes."""
    told: list[tuple[float, int]] = []

    def progress(stage: str, done: int, total: int | None = None, note: str = "") -> None:
        told.append((time.perf_counter(), done))

    with tempfile.TemporaryDirectory() as work, RayEngine(workers=workers) as engine:
        scoring = CorpusScoring(on, Path(work), engine, progress)
        load = partial(load_word_level, model, on.path, LoadingSettings(threads=1), None)
        scoring.score("m", load, ReportSettings(), piece)
    words = told[-1][1]
    steady = [each for each in told if FROM * words <= each[1] <= TO * words]
    (begin, before), (end, after) = steady[0], steady[-1]
    return (after - before) / (end - begin)


def lines(words: int = 300_000, piece: int = 4_000) -> list[Line]:
    """The median of both, taken in turns, so that noise hits both alike."""
    on = material.corpus(words)
    model = material.model_path("gru-160-512", on)
    pairs = [
        (words_per_second(on, model, 1, piece), words_per_second(on, model, 2, piece))
        for _ in range(REPEATS)
    ]
    one, two = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
    ratios = ", ".join(f"{b / a:.2f}" for a, b in pairs)
    detail = f"{two:,.0f} words/s by two, {one:,.0f} by one; ratios in turn: {ratios}"
    return [Line("score on Ray: two workers / one", two / one, 1.7, False, detail=detail)]
