"""Public models are trained like the audited one: also with its words, and also privately."""

import json
from dataclasses import replace

import numpy as np
import pytest

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.public_models import public_source
from leakscope.auditing.public_settings import PublicSettings
from leakscope.auditing.training_recipe import recipe_of
from leakscope.commands.report import report
from leakscope.commands.train import train
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.model_directory import load_config, load_model
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.run_manifest import open_run
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.train_settings import TrainSettings
from resealed import reseal

PLAIN = TrainSettings(
    Architecture("gru", 1, 4, 6), vocabulary=20, epochs=2, batch_size=4, learning_rate=0.05
)
USERS = 9


def private(**terms):
    return replace(PLAIN, mitigation=PrivacySettings(**terms))


def corpus_of(folder, words, users=USERS):
    rows = [
        Row(f"user{u}", " ".join(words[(u + i + d) % len(words)] for i in range(6)))
        for u in range(users)
        for d in range(2)
    ]
    return build_rows(rows, folder, settings=BuildSettings(validation=0.0))


@pytest.fixture
def corpus(tmp_path):
    return corpus_of(tmp_path / "corpus", list("abcdefg"))


@pytest.fixture
def elsewhere(tmp_path):
    """A model of another text, in which some words are missing and others are new."""
    other = corpus_of(tmp_path / "other", list("gfedxyz"))
    train(other.path, tmp_path / "elsewhere", PLAIN)
    return tmp_path / "elsewhere"


def trained_for(model, corpus, **choice):
    """The directories of the public models of a report on `model`."""
    given = PublicSettings(**choice)
    source = public_source(
        given, model, corpus, how=LoadingSettings(device="cpu", threads=1), progress=lambda *_: None
    )
    found = source(np.array([0, 3], np.int32))
    made = model / "public" / found.record.name
    return sorted(made.glob("fold-*")) or [made], found


@pytest.mark.parametrize("what", ["retrain", "crossfit"])
@pytest.mark.parametrize("settings", [PLAIN, private(rate=0.5, noise_multiplier=0.5)])
def test_the_vocabulary_is_the_audited_models(corpus, elsewhere, tmp_path, what, settings):
    train(corpus.path, tmp_path / "m", settings, vocabulary_from=elsewhere)
    words = load_model(tmp_path / "m").vocabulary
    assert words == load_model(elsewhere).vocabulary and "x" in words and "a" not in words
    public, found = trained_for(tmp_path / "m", corpus, public=what)
    for path in public:
        assert load_model(path).vocabulary == words
        config = load_config(path)
        assert config.vocabulary_from == load_config(tmp_path / "m").vocabulary_from
        if settings.mitigation.kind == "dp":
            assert not any("vocabulary" in caveat for caveat in config.privacy.caveats)
    assert getattr(found.record, "trained_like_the_audited_model", True)
    # Not mixed up with those of a model that has the corpus's own words.
    train(corpus.path, tmp_path / "own", settings)
    shared = {"public": what, "public_dir": tmp_path / "m" / "public"}
    if what == "retrain":
        _, other = trained_for(tmp_path / "own", corpus, **shared)
        assert other.record.name != found.record.name
    else:
        (tmp_path / "m" / "public" / found.record.name / "folds.json").unlink()
        with pytest.raises(LeakscopeError, match="another training"):
            trained_for(tmp_path / "own", corpus, **shared)


def test_a_vocabulary_that_is_missing_or_changed_is_said_at_once(corpus, elsewhere, tmp_path):
    train(corpus.path, tmp_path / "m", PLAIN, vocabulary_from=elsewhere)
    path = tmp_path / "m" / "vocabulary.json"
    words = json.loads(path.read_text())
    path.write_text(json.dumps(words[::-1]))
    reseal(tmp_path / "m")
    with pytest.raises(LeakscopeError, match="is not the one its config was saved with"):
        recipe_of(tmp_path / "m", corpus, None)
    path.unlink()
    with pytest.raises(LeakscopeError, match=r"has no vocabulary\.json"):
        recipe_of(tmp_path / "m", corpus, None)


def test_words_that_went_through_a_public_model_stay_private(corpus, elsewhere, tmp_path):
    """A vocabulary comes from the text that it was made of, whatever model hands it on."""
    train(corpus.path, tmp_path / "own", PLAIN)
    other = corpus_of(tmp_path / "more", list("gfedxy"))
    train(other.path, tmp_path / "through", PLAIN, vocabulary_from=tmp_path / "own")
    train(corpus.path, tmp_path / "back", PLAIN, vocabulary_from=elsewhere)
    terms = private(rate=0.5, noise_multiplier=0.5)
    for source, covered in (("through", False), ("back", True)):
        train(corpus.path, tmp_path / f"p-{source}", terms, vocabulary_from=tmp_path / source)
        caveats = load_config(tmp_path / f"p-{source}").privacy.caveats
        assert any("vocabulary" in caveat for caveat in caveats) != covered


@pytest.mark.parametrize("what", ["retrain", "crossfit"])
@pytest.mark.parametrize("goal", [{"noise_multiplier": 0.5}, {"target_epsilon": 6.0}])
def test_fewer_users_get_the_same_rate_noise_and_delta(corpus, tmp_path, what, goal):
    settings = private(
        users_per_step=USERS - 0.5, **goal, snapshot_at_epsilon=(1.0,), insecure_seed=5
    )
    train(corpus.path, tmp_path / "m", settings)
    audited = load_config(tmp_path / "m").privacy
    assert audited.insecure_seed
    public, found = trained_for(tmp_path / "m", corpus, public=what, folds=3)
    for path in public:
        config = load_config(path)
        made = config.privacy
        assert made.units < USERS == audited.units
        assert made.expected_units < audited.expected_units
        same = ("rate", "noise_multiplier", "delta", "clip", "words_per_user", "unit", "steps")
        assert all(getattr(made, name) == getattr(audited, name) for name in same)
        assert made.epsilon == audited.epsilon
        assert not made.insecure_seed, "the same noise in both would cancel out"
    assert getattr(found.record, "trained_like_the_audited_model", True)
    again, kept = trained_for(tmp_path / "m", corpus, public=what, folds=3)
    assert again == public and kept.record.digests == found.record.digests


def test_a_report_on_a_private_model_with_foreign_words_and_a_warm_start(
    corpus, elsewhere, tmp_path
):
    settings = private(users_per_step=float(USERS), noise_multiplier=0.3)
    train(corpus.path, tmp_path / "m", settings, warm_start=elsewhere, vocabulary_from=elsewhere)
    choice = PublicSettings("crossfit", folds=2, warm_start=elsewhere)
    report(tmp_path / "m", corpus.path, tmp_path / "r", choice, threads=1)
    public = open_run(tmp_path / "r")[0].public
    assert public.trained_like_the_audited_model and public.folds == 2


def test_a_private_model_whose_record_is_gone_is_not_guessed_at(corpus, tmp_path):
    train(corpus.path, tmp_path / "m", private(rate=0.5, noise_multiplier=0.5))
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    (tmp_path / "m" / "config.json").write_text(
        json.dumps(config | {"mitigation": {"kind": "none"}})
    )
    reseal(tmp_path / "m")
    with pytest.raises(LeakscopeError, match="does not say how it was trained"):
        recipe_of(tmp_path / "m", corpus, None)
