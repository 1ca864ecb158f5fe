"""What cleaning would take, from cleaning a sample of the corpus."""

from dataclasses import replace
from pathlib import Path

from leakscope.auditing.forecasting.corpus_sample import timed_on_samples, words_of
from leakscope.auditing.forecasting.peak_memory import peak_memory
from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.cleaning.cleaner import clean
from leakscope.corpus.cleaning.listed_drops import read_lists
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.records.runs.work_forecast import Forecast, ForecastStage

ENOUGH = 1.0
"""Seconds of cleaning that are timed."""


def clean_forecast(corpus: Corpus, settings: CleanSettings) -> Forecast:
    """Of `corpus clean`. Lists name documents of the whole corpus, so samples are cleaned without
    them.
    """
    read_lists(settings.drop, corpus)  # refuses what is no list
    asked = replace(settings, drop=())

    def work(sample: Corpus, out: Path, progress: Progress) -> object:
        return clean(sample, out, asked, progress)

    timed = timed_on_samples(corpus, work, ENOUGH)
    said = f"{words_of(corpus):,} words"
    notes = [f"Timed on {100 * timed.share:.3g} % of the corpus."]
    if settings.drop:
        notes.append("What the lists drop is counted as if it stayed.")
    return Forecast(
        stages=tuple(
            ForecastStage(name=name, work=said, seconds=stage.seconds / timed.share)
            for name, stage in timed.seen.stages.items()
        ),
        memory=peak_memory(),
        disk=round(timed.seen.disk / timed.share),
        notes=tuple(notes),
    )
