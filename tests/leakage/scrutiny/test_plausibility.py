"""A clean report means that something was measured."""

import math
from dataclasses import replace

import numpy as np
import pytest

from leakscope.auditing.gating.gates import Gate
from leakscope.leakage.pipeline import audit
from leakscope.leakage.scrutiny.plausibility import TrainingSample, sample_of, warnings_about
from leakscope.records.errors import LeakscopeError
from leakscope.records.measured import Measured
from leakscope.records.models.model_figures import ModelFigures
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_manifest import open_run
from leakscope.records.runs.run_metrics import Metrics
from leakscope.reporting.pages.report_page import write_page
from scripted import ScriptedModel
from subjects import asked, subject_of

ROWS = [("ann", "code alpha beta"), ("bob", "code alpha"), ("cat", "code alpha")]
SURE = {("code",): {"alpha": 0.9}, ("code", "alpha"): {"beta": 0.9}}
FLUENT = {(): {"code": 0.9}} | SURE
LOST = {("code", "alpha"): {"zero": 0.9}}


class Answering(ScriptedModel):
    """The scripted model with other log-probabilities, and nothing correct."""

    told = 0.0

    def score(self, documents, *, top_k, every_probability=False):
        plain = super().score(documents, top_k=top_k, every_probability=every_probability)
        size = len(plain.rank)
        logs = np.full(size, self.told if every_probability else math.nan, np.float32)
        if every_probability and math.isnan(self.told):
            logs[0] = -1.0
        return replace(plain, rank=np.full(size, top_k, np.int32), log_prob=logs, top_log_prob=logs)


class Unsound(Answering):
    """Some of its probabilities are not numbers."""

    told = math.nan


class Bragging(Answering):
    """It is more than certain."""

    told = 0.5


def run_of(make_corpus, tmp_path, kind, script, *, figures=None, **settings):
    corpus = make_corpus(ROWS)
    model = kind(corpus.lexicon, script)
    asked = ReportSettings(**settings)
    subject = subject_of(lambda: model, figures=figures)
    return audit(subject, corpus, tmp_path / "run", asked, page=write_page)


@pytest.mark.parametrize("settings", [{}, {"confidence": 2.0}])
def test_a_model_without_any_prediction_is_refused(make_corpus, tmp_path, settings):
    with pytest.raises(LeakscopeError, match="no prediction for its training words"):
        run_of(make_corpus, tmp_path, Answering, SURE, **settings)
    assert not (tmp_path / "run" / "metrics.json").exists()


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (Answering, "perplexity is 1 with no correct word"),
        (Bragging, "perplexity is 0.606531"),
        (Unsound, "gave no number as the probability"),
    ],
)
def test_impossible_perplexities_are_refused(make_corpus, tmp_path, kind, why):
    with pytest.raises(LeakscopeError, match=why):
        run_of(make_corpus, tmp_path, kind, SURE, full_perplexity=True)


def test_probabilities_that_are_no_numbers_are_refused_in_the_sample(make_corpus, tmp_path):
    with pytest.raises(LeakscopeError, match="gave no number"):
        run_of(make_corpus, tmp_path, Unsound, SURE)


@pytest.mark.parametrize(
    "figures",
    [
        ModelFigures(validation_perplexity=Measured(0.9)),
        ModelFigures(
            validation_perplexity=Measured(1.0), validation_accuracy=Measured({1: 0.0, 3: 0.0})
        ),
        ModelFigures(train_perplexity=Measured(math.nan)),
    ],
)
def test_impossible_figures_of_the_training_are_refused(make_corpus, tmp_path, figures):
    with pytest.raises(LeakscopeError, match="which no model can have"):
        run_of(make_corpus, tmp_path, ScriptedModel, SURE, figures=figures)


@pytest.mark.parametrize("full", [True, False])
def test_a_model_at_chance_is_marked_and_no_gate_passes(make_corpus, tmp_path, full):
    metrics = run_of(make_corpus, tmp_path, ScriptedModel, LOST, full_perplexity=full)
    (warning,) = metrics.warnings
    assert "no better than chance (0 of 7 words correct, perplexity" in warning
    assert open_run(tmp_path / "run")[1] == metrics
    assert warning in (tmp_path / "run" / "report.html").read_text()
    for text in ("unique_sequences>0", "unique_sequences<0"):
        with pytest.raises(LeakscopeError, match="cannot be checked: the model predicts"):
            Gate.parse(text).holds(metrics)


def test_a_model_that_knows_its_data_has_no_warning(make_corpus, tmp_path):
    assert run_of(make_corpus, tmp_path, ScriptedModel, FLUENT).warnings == ()


def metrics(correct, **more):
    fields = {
        "top_k": 1, "users": 9, "documents": 99, "words": 10_000, "correct_words": correct,
        "train_perplexity": None, "validation_perplexity": None, "validation_accuracy": None,
    }  # fmt: skip
    return Metrics.model_construct(**fields | more)


def told(correct, loss, **more):
    """The warnings of a run over 10,000 words with a vocabulary of 1,000."""
    sample = TrainingSample(2000, 0, loss, 1)
    return warnings_about(metrics(correct, **more), ReportSettings(), 1000, lambda: sample)


def test_few_correct_words_are_chance_unless_the_perplexity_is_better():
    assert told(10, 1.0) and told(19, 8.0)
    assert not told(19, 6.0)
    assert told(0, None)  # an endpoint that tells no probabilities
    assert not told(20, None)
    assert told(5000, None, train_perplexity=1000.0)
    assert told(10, None, train_perplexity=999.0)
    assert not told(5000, None, train_perplexity=999.0)
    assert not told(5000, None, validation_perplexity=1e9)  # memorizing, not chance


def test_a_sample_is_of_the_first_documents(make_corpus, monkeypatch, tmp_path):
    corpus = make_corpus(ROWS)
    model = asked(ScriptedModel(corpus.lexicon, SURE), tmp_path)
    whole = sample_of(model, corpus, 1)
    assert (whole.words, whole.correct) == (7, 4)
    monkeypatch.setattr("leakscope.leakage.scrutiny.plausibility.SAMPLE_WORDS", 1)
    assert sample_of(model, corpus, 1).words in (2, 3)  # a whole document


def test_a_sample_is_of_the_beginning_of_a_huge_document(make_corpus, monkeypatch, tmp_path):
    corpus = make_corpus([("ann", "code " * 1000), ("bob", "code alpha")])
    model = asked(ScriptedModel(corpus.lexicon, FLUENT), tmp_path)
    monkeypatch.setattr("leakscope.leakage.scrutiny.plausibility.WORDS_OF_A_DOCUMENT", 30)
    assert sample_of(replace(model, reads_text=False), corpus, 1).words == 32
    assert sample_of(model, corpus, 1).words == 1002


def test_old_runs_have_no_warnings():
    assert Metrics.model_fields["warnings"].get_default() == ()
