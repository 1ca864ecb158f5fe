"""A copy of a private model for others: the same answers, and nothing beside them."""

import json
import stat
from dataclasses import replace

import numpy as np
import pytest

import leakscope
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.model_directory import load_config, load_model
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.run_manifest import open_run
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.loop import train
from leakscope.training.published_copy import FILES
from leakscope.training.train_settings import TrainSettings

USERS, LEAST = 24, 3
TERMS = PrivacySettings(rate=0.5, noise_multiplier=0.6)
SETTINGS = TrainSettings(
    Architecture("gru", 1, 6, 8),
    vocabulary=60,
    epochs=2,
    learning_rate=0.05,
    vocabulary_users=LEAST,
    seed=123_456_789,
    mitigation=TERMS,
)


def built(folder, text):
    words = text.split()
    rows = [
        Row(f"user{u}", " ".join([words[(u * d + i) % len(words)] for i in range(9)] + [f"own{u}"]))
        for u in range(USERS)
        for d in range(4)
    ]
    return build_rows(rows, folder, settings=BuildSettings(validation=0.25))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A corpus, a private model of it, and the copy."""
    folder = tmp_path_factory.mktemp("published")
    corpus = built(folder / "corpus", "the cat sat on a mat and zebras yawn below")
    train(corpus, folder / "model", SETTINGS)
    leakscope.export(folder / "model", folder / "copy", public=True)
    return corpus, folder


def test_the_copy_answers_as_the_model(made):
    corpus, folder = made
    mine, copied = (load_model(folder / name).reading(corpus.lexicon) for name in ("model", "copy"))
    documents = corpus.load()
    before, after = (
        each.score(documents, top_k=3, every_probability=True) for each in (mine, copied)
    )
    np.testing.assert_allclose(after.log_prob, before.log_prob, rtol=1e-4, atol=1e-5)
    same = (after.rank == before.rank) | before.near_tie
    assert same.all() and len(set(before.rank.tolist())) > 1
    assert list(copied.vocabulary) == sorted(mine.vocabulary) != list(mine.vocabulary)


def test_every_word_of_the_copy_has_enough_users(made):
    corpus, folder = made
    users = dict(zip(corpus.lexicon.words, corpus.lexicon.users.tolist(), strict=True))
    words = json.loads((folder / "copy" / "vocabulary.json").read_text())
    assert min(users[word] for word in words) >= LEAST and len(words) > 5
    assert any(count < LEAST for count in users.values())


def test_nothing_but_the_model_and_its_guarantee_is_told(made):
    corpus, folder = made
    copy, before = folder / "copy", load_config(folder / "model")
    assert sorted(path.name for path in copy.iterdir()) == sorted(FILES)
    manifest = corpus.manifest
    untold = [manifest.digest, manifest.lexicon_digest, *(each.digest for each in manifest.inputs)]
    untold += [before.corpus_digest, str(SETTINGS.seed), str(corpus.path)]
    figures = {n: x for n, x in before.progress.items() if n.startswith(("valid", "train", "sec"))}
    untold += [*figures, *(str(value) for value in figures.values() if type(value) is float)]
    assert before.progress["validation_perplexity"] and before.progress["seconds"] > 0
    for path in copy.iterdir():
        content = path.read_bytes()
        assert [
            text for text in untold if text and len(text) > 3 and text.encode() in content
        ] == []
    told = load_config(copy)
    assert told.published and set(told.progress) == {"epoch", "step"}
    record, after = before.privacy, told.privacy
    assert after.model_copy(update={"caveats": record.caveats}) == record
    assert not any("digests" in caveat for caveat in after.caveats)
    assert any("fewer than 3 users" in caveat for caveat in after.caveats)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o755
    assert {stat.S_IMODE((copy / name).stat().st_mode) for name in FILES} == {0o644}
    assert stat.S_IMODE((folder / "model").stat().st_mode) == 0o700


def test_the_copy_is_a_model_for_others(made, tmp_path):
    corpus, folder = made
    copy = folder / "copy"
    assert leakscope.probe(copy, "the cat").suggestions
    with pytest.raises(LeakscopeError, match="published copy, which does not say what it was"):
        leakscope.report(copy, corpus.path, tmp_path / "r")
    other = built(tmp_path / "other", "dogs sat on the log and a cat yawned")
    plain = replace(SETTINGS, mitigation=TrainSettings(SETTINGS.architecture).mitigation)
    train(other, tmp_path / "warm", plain, warm_start=copy)
    leakscope.report(tmp_path / "warm", other.path, tmp_path / "r", public=str(copy), threads=1)
    (warning,) = open_run(tmp_path / "r")[0].public.warnings
    assert "published copy" in warning
    # Nobody knows any more whose words they are, so they are not taken for public ones.
    train(corpus, tmp_path / "words", SETTINGS, vocabulary_from=copy)
    caveats = load_config(tmp_path / "words").privacy.caveats
    assert any(caveat.startswith("The vocabulary") for caveat in caveats)
    with pytest.raises(LeakscopeError, match="may hold words of a single user"):
        leakscope.export(tmp_path / "words", tmp_path / "no", public=True)


def test_words_of_public_text_and_snapshots_can_be_published(made, tmp_path):
    corpus, folder = made
    other = built(tmp_path / "other", "dogs sat on the log and a cat yawned")
    train(other, tmp_path / "elsewhere", replace(SETTINGS, vocabulary_users=1, epochs=1))
    train(
        corpus,
        tmp_path / "m",
        replace(SETTINGS, vocabulary_users=1),
        vocabulary_from=tmp_path / "elsewhere",
    )
    told = leakscope.export(tmp_path / "m", tmp_path / "copy", public=True)
    assert told.vocabulary_from == load_config(tmp_path / "m").vocabulary_from
    assert not any("vocabulary" in caveat for caveat in told.privacy.caveats)
    snapshot = folder / "model" / "snapshots" / "epoch-001"
    told = leakscope.export(snapshot, tmp_path / "early", public=True)
    assert told.privacy.epsilon == load_config(snapshot).privacy.epsilon


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"mitigation": None}, "without differential privacy.*train it with --mitigation dp"),
        ({"vocabulary_users": 1}, "words of a single user.*train it with --vocabulary-users"),
        ({"mitigation": replace(TERMS, insecure_seed=5)}, "without --insecure-seed"),
        ({"mitigation": replace(TERMS, delta=0.4)}, "[Dd]elta is above"),
    ],
)
def test_what_no_copy_can_mend_is_refused(made, tmp_path, changes, match):
    corpus, _ = made
    if "mitigation" in changes and changes["mitigation"] is None:
        changes = {"mitigation": TrainSettings(SETTINGS.architecture).mitigation}
    train(corpus, tmp_path / "m", replace(SETTINGS, **changes))
    with pytest.raises(LeakscopeError, match=match):
        leakscope.export(tmp_path / "m", tmp_path / "copy", public=True)
    assert not (tmp_path / "copy").exists()


def test_copies_models_of_a_report_and_foreign_directories_are_refused(made, tmp_path):
    corpus, folder = made
    with pytest.raises(LeakscopeError, match="a published copy already"):
        leakscope.export(folder / "copy", tmp_path / "again", public=True)
    train(corpus, tmp_path / "fold", SETTINGS, without_users=np.array([1], np.int32))
    with pytest.raises(LeakscopeError, match="trained to judge another model"):
        leakscope.export(tmp_path / "fold", tmp_path / "no", public=True)
    with pytest.raises(LeakscopeError, match="--public makes one"):
        leakscope.export(folder / "model", tmp_path / "no")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("mine")
    with pytest.raises(LeakscopeError, match="already exists"):
        leakscope.export(folder / "model", tmp_path / "mine", public=True)
    assert (tmp_path / "mine" / "config.json").read_text() == "mine"
