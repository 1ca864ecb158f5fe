"""Public models: who trained on whom, proven by digests."""

import shutil
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.provenance import prove_unseen
from leakscope.auditing.public_models import public_source, same_public_model
from leakscope.auditing.public_settings import PublicSettings
from leakscope.auditing.public_training import fold_of
from leakscope.commands.report import report
from leakscope.commands.train import train
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.cleaning.cleaner import clean
from leakscope.corpus.readers.rows import Row
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.model_directory import load_config
from leakscope.models.wrappers.by_user import ByUser
from leakscope.records.documents import Documents
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.model_config import users_digest
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_manifest import open_run
from leakscope.training import loop, training_setup
from leakscope.training.train_settings import TrainSettings
from small_models import repeated_by, sharp_model

TINY = TrainSettings(Architecture("gru", 1, 4, 6), vocabulary=20, epochs=1, batch_size=4)
WORDS = ["a", "b", "c", "d", "e", "f", "g"]


def corpus_of(folder, users, documents=1, **changes):
    rows = [
        Row(f"user{u}", " ".join(WORDS[(u + i + d) % 7] for i in range(6)))
        for u in range(users)
        for d in range(documents)
    ]
    return build_rows(rows, folder / "corpus", settings=BuildSettings(validation=0.0, **changes))


def source(choice, model, corpus):
    return public_source(
        choice,
        model,
        corpus,
        how=LoadingSettings(device="cpu", threads=1),
        progress=lambda *args: None,
    )


class Watched:
    """A model that notes which users it was asked about."""

    def __init__(self, model, seen):
        self._model, self._seen = model, seen

    def score(self, documents, **how):
        self._seen.update(documents.users.tolist())
        return self._model.score(documents, **how)

    def log_probs(self, documents, wanted):
        self._seen.update(documents.users.tolist())
        return self._model.log_probs(documents, wanted)


@settings(max_examples=8)
@given(users=st.integers(2, 9), data=st.data())
def test_crossfit_never_asks_a_model_about_users_it_saw(users, data):
    folds = data.draw(st.integers(2, users))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = corpus_of(folder, users)
        train(corpus.path, folder / "model", TINY)
        choice = PublicSettings("crossfit", folds=folds)
        found = source(choice, folder / "model", corpus)(np.arange(users, dtype=np.int32))
        target = folder / "model" / "public" / f"crossfit-{folds}"
        composed = found.load()
        asked = [set() for _ in range(folds)]
        watched = [Watched(model, seen) for model, seen in zip(composed.models, asked, strict=True)]
        both = ByUser(watched, composed.part_of)
        documents = corpus.load()
        scores = both.score(documents, top_k=1, every_probability=True)
        wanted = np.ones(len(documents.ids), np.bool_)
        assert np.allclose(both.log_probs(documents, wanted), scores.log_prob, atol=1e-5)
        for fold, seen in enumerate(asked):
            config = load_config(target / f"fold-{fold:03d}")
            # Everybody whom the model judges is among those that its training left out.
            assert users_digest(np.array(sorted(seen))) == config.without_users.digest
        assert set.union(*asked) == set(range(users))


def test_the_left_out_users_words_never_reach_the_training(tmp_path, monkeypatch):
    corpus = corpus_of(tmp_path, 5, 2)
    documents = corpus.load()
    left_out = np.array([1, 4], np.int32)
    kept = [documents.words_of(i) for i in range(10) if documents.users[i] not in left_out]
    seen = []

    class Spy(training_setup.TrainingText):
        def __init__(self, entries, *rest):
            seen.append(entries)
            super().__init__(entries, *rest)

    monkeypatch.setattr(training_setup, "TrainingText", Spy)
    loop.train(corpus, tmp_path / "model", TINY, without_users=left_out)
    assert seen[0].tolist() == np.concatenate(kept).tolist()
    config = load_config(tmp_path / "model")
    assert config.without_users.digest == users_digest(left_out)


def test_by_user_gives_each_document_its_own_models_answer():
    models = [sharp_model("gru", WORDS, seed) for seed in (1, 2)]
    rng = np.random.default_rng(0)
    rows = [(user, rng.integers(0, 7, 5 + user).tolist()) for user in range(7)]
    documents = Documents.of(rows)
    both = ByUser(models, partial(fold_of, folds=2))
    scores = both.score(documents, top_k=2)
    for index, (user, ids) in enumerate(rows):
        alone = models[user % 2].score(Documents.of([(user, ids)]), top_k=2)
        here = slice(documents.offsets[index], documents.offsets[index + 1])
        assert scores.rank[here].tolist() == alone.rank.tolist()
        assert np.allclose(scores.log_prob[here], alone.log_prob, atol=1e-5, equal_nan=True)
    with pytest.raises(LeakscopeError, match="cannot be probed"):
        both.next(["a"])


def test_folds_that_were_exchanged_are_refused(tmp_path):
    corpus = corpus_of(tmp_path, 5)
    train(corpus.path, tmp_path / "model", TINY)
    owners = np.arange(5, dtype=np.int32)
    source(PublicSettings("crossfit", folds=2), tmp_path / "model", corpus)(owners)
    target = tmp_path / "model" / "public" / "crossfit-2"
    shutil.move(target / "fold-000", tmp_path / "aside")
    shutil.move(target / "fold-001", target / "fold-000")
    shutil.move(tmp_path / "aside", target / "fold-001")
    given_path = source(PublicSettings(str(target)), tmp_path / "model", corpus)
    with pytest.raises(LeakscopeError, match="was not trained without the users"):
        given_path(owners)
    with pytest.raises(LeakscopeError, match="between 2 and"):
        source(PublicSettings("crossfit", folds=6), tmp_path / "model", corpus)


def test_retrain_leaves_the_owners_out_and_is_found_again(tmp_path):
    corpus = corpus_of(tmp_path, 6, 2)
    train(corpus.path, tmp_path / "model", TINY)
    retrained = source(PublicSettings("retrain"), tmp_path / "model", corpus)
    found = retrained(np.array([1, 4], np.int32))
    (made,) = (tmp_path / "model" / "public").iterdir()
    config = load_config(made)
    assert config.without_users.users == 2
    assert config.without_users.digest == users_digest(np.array([4, 1]))
    assert config.training == load_config(tmp_path / "model").training
    before = (made / "model.safetensors").stat().st_mtime_ns
    assert retrained(np.array([4, 1], np.int32)).record == found.record
    assert (made / "model.safetensors").stat().st_mtime_ns == before
    assert retrained(np.zeros(0, np.int32)).record.digests == ()
    with pytest.raises(LeakscopeError, match="use --public crossfit"):
        retrained(np.arange(6, dtype=np.int32))


def test_a_given_model_that_knows_the_users_is_warned_of(tmp_path):
    corpus = corpus_of(tmp_path, 6, 2)
    (tmp_path / "elsewhere").mkdir()
    other = corpus_of(tmp_path / "elsewhere", 4, 3)
    train(corpus.path, tmp_path / "model", TINY)
    train(corpus.path, tmp_path / "twin", TrainSettings(**(vars(TINY) | {"seed": 1})))
    train(other.path, tmp_path / "stranger", TINY)
    owners = np.array([0], np.int32)

    def warnings(public):
        found = source(PublicSettings(str(tmp_path / public)), tmp_path / "model", corpus)(owners)
        return " ".join(found.record.warnings)

    assert "itself" in warnings("model")
    assert "this very corpus" in warnings("twin")
    assert warnings("stranger") == ""
    train(corpus.path, tmp_path / "child", TINY, warm_start=tmp_path / "model")
    assert "started from the audited model" in warnings("child")
    train(corpus.path, tmp_path / "niece", TINY, warm_start=tmp_path / "twin")
    assert "started from one that was trained on this very corpus" in warnings("niece")
    clean(corpus, tmp_path / "cleaned", CleanSettings(min_users=2))
    train(tmp_path / "cleaned", tmp_path / "cousin", TINY)
    assert warnings("cousin")


def test_a_model_that_was_started_from_another_says_what_it_needs(tmp_path):
    corpus = corpus_of(tmp_path, 4)
    train(corpus.path, tmp_path / "first", TINY)
    train(corpus.path, tmp_path / "second", TINY, warm_start=tmp_path / "first")
    with pytest.raises(LeakscopeError, match="--warm-start"):
        source(PublicSettings("retrain"), tmp_path / "second", corpus)
    ready = PublicSettings("retrain", warm_start=tmp_path / "first")
    with pytest.raises(LeakscopeError, match="trained on this very corpus"):
        source(ready, tmp_path / "second", corpus)
    (tmp_path / "elsewhere").mkdir()
    other = corpus_of(tmp_path / "elsewhere", 5)
    train(other.path, tmp_path / "stranger", TINY)
    train(corpus.path, tmp_path / "third", TINY, warm_start=tmp_path / "stranger")
    fine = PublicSettings("retrain", warm_start=tmp_path / "stranger")
    found = source(fine, tmp_path / "third", corpus)(np.array([0], np.int32))
    assert found.record.digests
    # Started from what saw everybody, a model proves nothing, whatever its own training left out.
    loop.train(
        corpus, tmp_path / "forged", TINY, warm_start=tmp_path / "first",
        without_users=np.array([0], np.int32),
    )  # fmt: skip
    with pytest.raises(LeakscopeError, match="started from one that was not"):
        prove_unseen(tmp_path / "forged", corpus, users_digest(np.array([0])))


def test_trainings_are_not_mixed_up(tmp_path):
    corpus = corpus_of(tmp_path, 4, 2)
    (tmp_path / "elsewhere").mkdir()
    other = corpus_of(tmp_path / "elsewhere", 6, 2)
    longer = TrainSettings(**(vars(TINY) | {"epochs": 2}))
    train(corpus.path, tmp_path / "a", TINY)
    train(corpus.path, tmp_path / "b", longer)
    train(other.path, tmp_path / "c", TINY)
    owners = np.array([0], np.int32)
    shared = tmp_path / "shared"
    names = {
        source(PublicSettings("retrain", public_dir=shared), tmp_path / model, on)(
            owners
        ).record.name
        for model, on in (("a", corpus), ("b", corpus), ("c", other))
    }
    assert len(names) == 3
    folds = PublicSettings("crossfit", folds=2, public_dir=shared)
    source(folds, tmp_path / "a", corpus)
    (shared / "crossfit-2" / "folds.json").unlink()  # as an interrupted run leaves it
    shutil.rmtree(shared / "crossfit-2" / "fold-001")
    with pytest.raises(LeakscopeError, match="another training"):
        source(folds, tmp_path / "b", corpus)
    finished = source(folds, tmp_path / "a", corpus)(owners)
    assert finished.record.trained_like_the_audited_model and not finished.record.warnings
    with pytest.raises(LeakscopeError, match=r"\(epochs 1 before, 2 now\); give another --public"):
        source(folds, tmp_path / "b", corpus)  # finished ones are no more his than half-trained
    asked_for = PublicSettings(str(shared / "crossfit-2"))
    reused = source(asked_for, tmp_path / "b", corpus)(owners)
    assert reused.record.digests == finished.record.digests
    assert not reused.record.trained_like_the_audited_model
    assert "(epochs 1 there, 2 here)" in reused.record.warnings[0]


def test_a_finished_run_is_kept_only_for_the_same_public_model(tmp_path):
    corpus = corpus_of(tmp_path, 4, 2)
    train(corpus.path, tmp_path / "m", TINY)
    train(corpus.path, tmp_path / "n", TrainSettings(**(vars(TINY) | {"seed": 5})))
    first = PublicSettings(str(tmp_path / "m"))
    record = source(first, tmp_path / "m", corpus)(np.array([0], np.int32)).record

    def same(public, record, model="m"):
        how = LoadingSettings(device="cpu", threads=1)
        return same_public_model(public, record, model=tmp_path / model, corpus=corpus, how=how)

    assert same(first, record)
    assert not same(PublicSettings(str(tmp_path / "n")), record)
    assert not same(PublicSettings(), record)
    assert not same(first, None) and same(PublicSettings(), None)
    two, three = (PublicSettings("crossfit", folds=k) for k in (2, 3))
    record = source(two, tmp_path / "m", corpus)(np.array([0], np.int32)).record
    source(three, tmp_path / "m", corpus)
    assert same(two, record) and not same(three, record)
    # The very same folds are another model's: a run that used them for this one is not kept.
    shared = PublicSettings("crossfit", folds=2, public_dir=tmp_path / "m" / "public")
    assert same(shared, record) and not same(shared, record, "n")
    again = PublicSettings("retrain")
    record = source(again, tmp_path / "m", corpus)(np.array([0], np.int32)).record
    assert same(again, record)
    shared = PublicSettings("retrain", public_dir=tmp_path / "m" / "public")
    assert same(shared, record) and not same(shared, record, "n")


def test_a_report_says_which_public_model_it_used(tmp_path):
    model = sharp_model("gru", WORDS, 1)
    rows = [Row(user, text) for user, text in repeated_by(model, 4, 40, 20)]
    corpus = build_rows(rows, tmp_path / "corpus", settings=BuildSettings(validation=0.2))
    longer = TrainSettings(**(vars(TINY) | {"epochs": 12, "learning_rate": 0.05}))
    train(corpus.path, tmp_path / "model", longer)
    metrics = report(
        tmp_path / "model",
        corpus.path,
        tmp_path / "run",
        ReportSettings(benchmark=True, top_k=2),
        PublicSettings("crossfit", folds=2),
        threads=1,
    ).metrics
    manifest, _ = open_run(tmp_path / "run")
    assert manifest.public.kind == "crossfit" and manifest.public.folds == 2
    assert len(manifest.public.digests) == 2
    assert metrics.unique_sequences > 0 and metrics.leakage_epsilon > 0
    assert metrics.public_unique_sequences is not None
    with pytest.raises(LeakscopeError, match="--benchmark is about the public model"):
        report(tmp_path / "model", corpus.path, tmp_path / "again", ReportSettings(benchmark=True))
