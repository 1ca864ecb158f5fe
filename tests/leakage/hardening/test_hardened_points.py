"""Hardening from stored probabilities equals a fresh report with the setting built in."""

import pytest

from leakscope.leakage.hardening.hardened_points import harden_run
from leakscope.leakage.pipeline import audit
from leakscope.leakage.scrutiny.public_surprise import PublicModel
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.public_model import GivenModelRecord
from leakscope.records.runs.report_settings import ReportSettings
from small_models import repeated_by, sharp_model
from subjects import subject_of

WORDS = ["a", "b", "c", "d", "e", "f", "g"]
THRESHOLDS = (1.05, 1.3, 2.0, 4.0, 50.0)
SHAPES = {"many short documents": (9, 90, 12), "few users, long documents": (3, 24, 50)}


@pytest.mark.parametrize("kind", ["gru", "transformer"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_points_equal_fresh_reports(kind, shape, make_corpus, tmp_path):
    model = sharp_model(kind, WORDS, 1)
    corpus = make_corpus(repeated_by(model, *shape), validation=0.2)
    public = sharp_model(kind, WORDS, 2).reading(corpus.lexicon)
    subject = subject_of(lambda: model.reading(corpus.lexicon))
    judge = PublicModel(
        GivenModelRecord(name="p", digests=("x",)), lambda: public, AnswerIdentity("x")
    )

    def fresh(name, **settings):
        asked = ReportSettings(least_context=0, thresholds=(1.5, 3.0), **settings)
        return audit(subject, corpus, tmp_path / name, asked, public=lambda owners: judge)

    fresh("run", top_k=3)
    points = harden_run(tmp_path / "run", corpus, THRESHOLDS)
    assert len(points) == 3 * (len(THRESHOLDS) + 1)
    some = 0
    for number, point in enumerate(points):
        again = fresh(f"fresh-{number}", top_k=point.top_k, confidence=point.threshold)
        assert point.unique_sequences == again.unique_sequences
        assert point.users_with_unique == again.users_with_unique
        assert point.curated == again.curated
        assert (point.leakage_epsilon is None) == (again.leakage_epsilon is None)
        if point.leakage_epsilon is not None:  # the public model's batches differ: float noise
            assert point.leakage_epsilon == pytest.approx(again.leakage_epsilon, rel=1e-5)
        if point.threshold is not None:
            assert point.validation_accuracy == again.validation_accuracy[point.top_k]
            assert point.answered == again.answered
        some += point.unique_sequences > 0
    assert some > len(points) // 3
    by_threshold = [p.answered for p in points if p.top_k == 3]
    assert by_threshold == sorted(by_threshold) and by_threshold[-1] == 1.0


def test_a_hardened_run_can_only_become_stricter(make_corpus, tmp_path):
    plain = sharp_model("gru", WORDS, 1)
    corpus = make_corpus(repeated_by(plain, 9, 90, 12), validation=0.2)
    subject = subject_of(lambda: plain.reading(corpus.lexicon))
    metrics = audit(subject, corpus, tmp_path / "run", ReportSettings(confidence=2.0, top_k=2))
    points = harden_run(tmp_path / "run", corpus, (1.3, 2.0, 8.0))
    assert [point.threshold for point in points] == [1.3, 2.0, 1.3, 2.0]
    assert points[-1].unique_sequences == metrics.unique_sequences
    assert points[-1].answered == metrics.answered < 1
    assert points[-1].validation_accuracy == metrics.validation_accuracy[2]


def test_another_corpus_and_impossible_thresholds_are_refused(make_corpus, tmp_path):
    plain = sharp_model("gru", WORDS)
    rows = repeated_by(plain, 3, 9, 8)
    corpus, other = make_corpus(rows), make_corpus(rows[1:])
    model = plain.reading(corpus.lexicon)
    audit(subject_of(lambda: model), corpus, tmp_path / "run", ReportSettings())
    with pytest.raises(LeakscopeError, match="another corpus"):
        harden_run(tmp_path / "run", other)
    with pytest.raises(LeakscopeError, match="at least 1"):
        harden_run(tmp_path / "run", corpus, (0.5,))
    points = harden_run(tmp_path / "run", corpus, (2.0,))
    assert all(point.validation_accuracy is None for point in points)
    assert all(point.leakage_epsilon is None for point in points)
