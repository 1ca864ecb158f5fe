"""Reports on corpora whose rows say which documents are held out."""

from itertools import count

import pytest

from held_out import corpus_of
from leakscope.leakage.pipeline import audit
from leakscope.records.runs.report_settings import ReportSettings
from subjects import subject_of


@pytest.fixture
def report(tmp_path):
    """A function that reports on rows by a model in memory; the n-th run is in `n/run`."""
    made = count(1)

    def make(rows, model, **options):
        folder = tmp_path / f"{next(made)}"
        corpus = corpus_of(rows, folder / "corpus")
        subject = subject_of(lambda: model.reading(corpus.lexicon))
        return audit(subject, corpus, folder / "run", ReportSettings(**options))

    return make
