"""Ratios, metric 2 and leakage epsilon, worked out on paper; and the public model's scores against
scoring everything.
"""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.pipeline import audit
from leakscope.leakage.scrutiny.public_surprise import PublicModel, public_answers
from leakscope.leakage.sequences.members import Members
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.records.documents import Documents
from leakscope.records.models.public_model import GivenModelRecord
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.reporting.pages.report_page import write_page
from scripted import ScriptedModel
from small_models import sharp_model
from subjects import subject_of

ROWS = [
    ("ann", "code alpha beta"),
    ("bob", "say gamma delta"),
    ("cat", "code alpha"),
]


def script(alpha, beta, gamma, delta):
    return {
        ("code",): {"alpha": alpha},
        ("code", "alpha"): {"beta": beta},
        ("say",): {"gamma": gamma},
        ("say", "gamma"): {"delta": delta},
    }


def public_of(model, warnings=()):
    record = GivenModelRecord(name="paper", digests=("digest",), warnings=tuple(warnings))
    return lambda owners: PublicModel(record, lambda: model, AnswerIdentity("public"))


@pytest.fixture
def judged(make_corpus, tmp_path):
    corpus = make_corpus(ROWS)
    model = ScriptedModel(corpus.lexicon, script(0.9, 0.4, 0.5, 0.5))
    public = ScriptedModel(corpus.lexicon, script(0.1, 0.009, 0.25, 0.25))
    settings = ReportSettings(
        reveal=True, thresholds=(1.5, 2.0, 5.0, 20.5, 1.2345678, 1.2345679), benchmark=True
    )
    subject = subject_of(lambda: model, "scripted")
    metrics = audit(
        subject, corpus, tmp_path / "run", settings, public=public_of(public), page=write_page
    )
    return tmp_path / "run", metrics


def test_every_ratio_as_on_paper(judged):
    run, metrics = judged
    rows = {tuple(r["sequence"]): r for r in pq.read_table(run / "sequences.parquet").to_pylist()}
    assert set(rows) == {("alpha", "beta"), ("gamma", "delta"), ("alpha",)}
    # PP_model = 1/sqrt(0.9 x 0.4), PP_public = 1/sqrt(0.1 x 0.009): their ratio is 20.
    assert rows["alpha", "beta"]["ratio"] == pytest.approx(20.0, rel=1e-5)
    assert rows["alpha", "beta"]["public_perplexities"] == pytest.approx([100 / 3], rel=1e-5)
    assert rows["gamma", "delta"]["ratio"] == 2.0  # 4 / 2
    assert rows["alpha",]["ratio"] is None  # two users have it
    assert rows["alpha",]["public_perplexities"] is None
    counted = {"1.5": 2, "2": 2, "5": 1, "20.5": 0, "1.2345678": 2, "1.2345679": 2}
    assert metrics.curated == counted
    assert metrics.leakage_epsilon == pytest.approx(20.0, rel=1e-5)
    assert metrics.leakage_epsilon_sequence == rows["alpha", "beta"]["id"]
    assert rows["alpha", "beta"]["least_context"] == 1
    assert rows["alpha", "beta"]["least_context_exact"]
    users = {u["user_key"]: u for u in pq.read_table(run / "users.parquet").to_pylist()}
    assert users["ann"]["largest_ratio"] == pytest.approx(20.0, rel=1e-5)
    assert users["cat"]["largest_ratio"] is None and users["cat"]["pii"] is None


def test_the_benchmark_line_is_the_public_models_own_metric_1(judged):
    # Its best guesses: <unk> after "code" (0.1 each at most), nothing unique but gamma's run?
    # After "say" it gives gamma 0.25 where <unk> has (1 - 0.25)/6: gamma, then delta: one unique.
    _, metrics = judged
    assert metrics.public_unique_sequences == 1


def test_the_page_names_the_worst_sequence_and_the_public_model(judged):
    run, _ = judged
    page = (run / "report.html").read_text()
    assert "alpha beta" in page and "a model chosen for it (paper)" in page
    assert json.loads((run / "manifest.json").read_text())["public"]["kind"] == "given"


def test_warnings_reach_the_page(make_corpus, tmp_path):
    corpus = make_corpus(ROWS)
    model = ScriptedModel(corpus.lexicon, script(0.9, 0.4, 0.5, 0.5))
    subject = subject_of(lambda: model, "scripted")
    warned = public_of(model, ["It knows the users."])
    metrics = audit(
        subject, corpus, tmp_path / "run", ReportSettings(), public=warned, page=write_page
    )
    assert "It knows the users." in (tmp_path / "run" / "report.html").read_text()
    assert metrics.leakage_epsilon == pytest.approx(1.0)


def test_nothing_unique_means_no_epsilon_and_says_so(make_corpus, tmp_path):
    corpus = make_corpus([("ann", "code alpha"), ("cat", "code alpha")])
    model = ScriptedModel(corpus.lexicon, {("code",): {"alpha": 0.9}})
    subject = subject_of(lambda: model, "scripted")
    metrics = audit(subject, corpus, tmp_path / "run", ReportSettings(), public=public_of(model))
    assert metrics.unique_sequences == 0 and metrics.leakage_epsilon is None
    assert metrics.curated == {"1.5": 0, "2": 0, "5": 0, "10": 0}
    assert metrics.reasons["leakage_epsilon"] == "there are no unique sequences"


@given(
    texts=st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=12), min_size=1, max_size=8),
    draw=st.data(),
)
def test_surprise_equals_scoring_everything(texts, draw):
    model = sharp_model("gru", [f"w{i}" for i in range(9)], 2)
    documents = Documents.of([(i, text) for i, text in enumerate(texts)])
    runs = []
    for number, text in enumerate(texts):
        if draw.draw(st.booleans()):
            start = draw.draw(st.integers(0, len(text) - 1))
            runs.append((number, start, draw.draw(st.integers(1, len(text) - start))))
    places = np.array(runs, np.int64).reshape(-1, 3)
    nothing = np.zeros(len(runs))
    members = Members(
        nothing.astype(np.int32), nothing.astype(np.int32), places[:, 0],
        places[:, 1].astype(np.int32), places[:, 2].astype(np.int32),
        nothing.astype(np.float32), nothing.astype(bool), nothing.astype(bool),
    )  # fmt: skip
    chunks = [documents.part(i, i + 1) for i in range(len(documents))]
    found = public_answers(model, chunks, members, np.arange(len(runs)))
    everything = model.score(documents, top_k=1, every_probability=True).log_prob
    expected = [
        everything[documents.offsets[n] + s : documents.offsets[n] + s + size]
        for n, s, size in runs
    ]
    assert np.allclose(
        found.log_probs, np.concatenate([np.zeros(0), *expected]), atol=1e-5, equal_nan=False
    )
