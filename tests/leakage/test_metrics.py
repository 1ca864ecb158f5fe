"""Every number of `metrics.json` is there, or its reason is; never both."""

import pytest

from leakscope.leakage.pipeline import audit
from leakscope.leakage.scrutiny.public_surprise import PublicModel
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.records.measured import Measured
from leakscope.records.models.model_figures import ModelFigures
from leakscope.records.models.public_model import GivenModelRecord
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_metrics import Metrics
from scripted import ScriptedModel
from subjects import subject_of

ROWS = [("ann", "code alpha beta"), ("bob", "code alpha"), ("cat", "code alpha")]
ONE = {("code",): {"alpha": 0.9}, ("code", "alpha"): {"beta": 0.9}}
NONE = {("code", "alpha"): {"zero": 0.9}}
MAY_BE_NULL = [
    name for name, field in Metrics.model_fields.items()
    if type(None) in getattr(field.annotation, "__args__", ())
    and name not in ("user_threshold", "audited", "interface")
]  # fmt: skip


def measured(make_corpus, tmp_path, script, figures=None, *, public=False, **settings):
    corpus = make_corpus(ROWS)
    model = ScriptedModel(corpus.lexicon, script)
    judge = PublicModel(
        GivenModelRecord(name="p", digests=("d",)), lambda: model, AnswerIdentity("d")
    )
    return audit(
        subject_of(lambda: model, figures=figures),
        corpus,
        tmp_path / "run",
        ReportSettings(**settings),
        public=(lambda owners: judge) if public else None,
    )


@pytest.mark.parametrize("script", [ONE, NONE])
@pytest.mark.parametrize("public", [True, False])
@pytest.mark.parametrize("least", [0, 10])
def test_what_is_null_has_a_reason_and_nothing_else_has(
    make_corpus, tmp_path, script, public, least
):
    found = measured(make_corpus, tmp_path, script, public=public, least_context=least)
    null = {name for name in MAY_BE_NULL if getattr(found, name) is None}
    assert set(found.reasons) == null and all(found.reasons.values())


def test_reasons_say_what_is_the_case(make_corpus, tmp_path):
    alone = measured(make_corpus, tmp_path, ONE, least_context=0).reasons
    assert alone["leakage_epsilon"] == alone["curated"] == "no public model was given"
    assert alone["unique_without_context"] == alone["elsewhere"] == "it was not asked for"
    assert alone["train_perplexity"] == "not measured"


def test_without_unique_sequences_that_is_the_reason(make_corpus, tmp_path):
    reasons = measured(make_corpus, tmp_path, NONE, public=True).reasons
    for name in ("leakage_epsilon", "longest_unique", "unique_without_context"):
        assert reasons[name] == "there are no unique sequences"
    assert "curated" not in reasons  # nothing is unique, so 0 of them are curated


def test_figures_that_are_handed_in_keep_their_values_and_reasons(make_corpus, tmp_path):
    given = ModelFigures(
        train_perplexity=Measured(7.5), validation_perplexity=Measured.absent("it got lost")
    )
    found = measured(make_corpus, tmp_path, ONE, given)
    assert found.train_perplexity == 7.5
    assert found.reasons["validation_perplexity"] == "it got lost"


def test_a_hardened_interface_overrules_what_the_training_told(make_corpus, tmp_path):
    given = ModelFigures(
        validation_perplexity=Measured(9.0), validation_accuracy=Measured({1: 0.5})
    )
    found = measured(make_corpus, tmp_path, ONE, given, confidence=1.5)
    assert found.validation_perplexity is None
    assert found.reasons["validation_perplexity"].startswith("an interface that hides answers")
    assert (
        found.validation_accuracy is None
        and "validation documents" in (found.reasons["validation_accuracy"])
    )
