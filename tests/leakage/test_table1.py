"""The example of Inan et al. 2021, Table 1, with a scripted model."""

import pyarrow.parquet as pq
import pytest

from leakscope.leakage.pipeline import audit
from leakscope.records.measured import Measured
from leakscope.records.models.model_figures import ModelFigures
from leakscope.records.runs.report_settings import ReportSettings
from scripted import ScriptedModel
from subjects import subject_of

ROWS = [
    ("ann", "Thank you very much"),
    ("ann", "I like cats very much"),
    ("bob", "you eat very much and sleep very much"),
    ("cat", "very much so"),
    ("cat", "not very much"),
    ("dan", "very much very much"),
    ("eve", "it is very much fun very much"),
]


def script(first: float, second: float):
    """Both words of "very much" after the two contexts, so that PP = 1 / sqrt(p1 p2)."""
    return {
        ("Thank", "you"): {"very": first},
        ("Thank", "you", "very"): {"much": first},
        ("I", "like", "cats"): {"very": second},
        ("I", "like", "cats", "very"): {"much": second},
    }


def test_very_much(make_corpus, tmp_path):
    corpus = make_corpus(ROWS)
    model = ScriptedModel(corpus.lexicon, script(1 / 1.3, 1 / 3.6))
    metrics = audit(
        subject_of(lambda: model, "scripted"),
        corpus,
        tmp_path / "run",
        ReportSettings(reveal=True),
    )
    (row,) = pq.read_table(tmp_path / "run" / "sequences.parquet").to_pylist()
    assert row["sequence"] == ["very", "much"]
    assert (row["total_in_s"], row["users_in_s"]) == (2, 1)
    assert (row["total_in_d"], row["users_in_d"]) == (10, 5)
    assert row["contexts"] == [["Thank", "you"], ["I", "like", "cats"]]
    assert row["context_lengths"] == [2, 3]
    assert row["perplexities"] == pytest.approx([1.3, 3.6], rel=1e-5)
    assert metrics.unique_sequences == 0
    assert metrics.leakage_epsilon is None
    assert "public" in metrics.reasons["leakage_epsilon"]


def test_full_perplexity_is_that_of_every_word(make_corpus, tmp_path):
    corpus = make_corpus([("ann", "a b"), ("bob", "a")])
    model = ScriptedModel(corpus.lexicon, {(): {"a": 0.5}, ("a",): {"b": 0.25, "a": 0.7}})
    subject = subject_of(lambda: model, "scripted", ModelFigures(train_perplexity=Measured(99.0)))
    metrics = audit(subject, corpus, tmp_path / "run", ReportSettings(full_perplexity=True))
    assert metrics.train_perplexity == pytest.approx((1 / (0.5 * 0.25 * 0.5)) ** (1 / 3), rel=1e-5)
    assert metrics.train_perplexity_low is None
    assert "every word" in metrics.reasons["train_perplexity_low"]
    sampled = audit(subject, corpus, tmp_path / "run2", ReportSettings())
    assert sampled.train_perplexity == 99.0
    assert sampled.occurrences == metrics.occurrences
