"""Trainings of a study stop where they are equally useful, and keep only what is compared."""

import itertools
import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.split import VALIDATION
from leakscope.models.evaluation import evaluate
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.model_directory import load_model
from leakscope.studies.equal_usefulness import (
    measured_often,
    steps_per_epoch,
    trained_once,
    training_step,
)
from leakscope.studies.kept_results import KeptResults
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.loop import train
from leakscope.training.train_settings import TrainSettings
from remote_artifacts import files_of


def silent(*_):
    return


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = [
        Row(f"u{i % 9}", " ".join(f"w{a} then w{(a + 1) % 20}" for a in rng.integers(0, 20, 4)))
        for i in range(150)
    ]
    path = tmp_path_factory.mktemp("study") / "corpus"
    return build_rows(rows, path, settings=BuildSettings(validation=0.2))


def settings(**changes):
    options = {"epochs": 8, "batch_size": 8, "vocabulary": 50, "learning_rate": 0.01}
    return TrainSettings(Architecture("gru", 1, 12, 16), **(options | changes))


def test_keeps_the_first_snapshot_that_reaches_each_target(corpus, tmp_path):
    kept = KeptResults(tmp_path / "steps", itertools.count().__next__)
    targets = (30.0, 12.0, 1.5)  # the last is out of reach
    path = kept[training_step(corpus, settings(), targets, 4, silent)]
    found = trained_once(path, targets)
    assert set(found.reached) == {30.0, 12.0}
    plain = train(
        corpus,
        tmp_path / "plain",
        settings(snapshot_steps=-(-corpus.manifest.train.documents // 32)),
    )
    for target, reached in found.reached.items():
        first = next(each for each in plain.history if each["validation_perplexity"] <= target)
        assert (reached.perplexity, reached.steps) == (
            first["validation_perplexity"], first["step"],
        )  # fmt: skip
        model = load_model(reached.model).reading(corpus.lexicon)
        again = evaluate(model, corpus.documents(VALIDATION))
        assert again.perplexity == pytest.approx(reached.perplexity)
    kept_models = sorted(each.name for each in (path / "snapshots").iterdir())
    assert kept_models == sorted(each.model.name for each in found.reached.values())
    assert found.best == min(each["validation_perplexity"] for each in plain.history)
    assert found.seconds_per_epoch > 0


def test_stops_at_the_lowest_target(corpus, tmp_path):
    kept = KeptResults(tmp_path / "steps", itertools.count().__next__)
    path = kept[training_step(corpus, settings(), (30.0, 12.0), 4, silent)]
    found = trained_once(path, (30.0, 12.0))
    assert found.epochs == found.reached[12.0].epochs < 8
    weights = load_file(path / "model.safetensors")
    same = load_file(found.reached[12.0].model / "model.safetensors")
    assert all(torch.equal(weights[name], same[name]) for name in weights)


def test_a_training_killed_before_it_was_tidied_up_is_not_made_again(corpus, tmp_path):
    kept = KeptResults(tmp_path / "steps", itertools.count().__next__)
    step = training_step(corpus, settings(), (12.0,), 4, silent)
    path = kept[step]
    (tmp_path / "steps" / f"{step.name}.json").unlink()
    before = (path / "model.safetensors").stat().st_mtime_ns
    kept[step]
    assert (path / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize("left", [["config.json"], ["config.json", "model.safetensors"], []])
def test_a_kill_while_snapshots_are_removed_stops_no_study(corpus, tmp_path, left):
    """Whatever it leaves of one goes, too; the result is the same."""
    first = training_step(corpus, settings(epochs=2), (), 1, silent)
    quiet = files_of(KeptResults(tmp_path / "quiet", itertools.count().__next__)[first])
    path = tmp_path / "steps" / first.name
    train(corpus, path, measured_often(corpus, settings(epochs=2), 1))
    snapshot = next((path / "snapshots").iterdir())
    for entry in snapshot.iterdir():
        if entry.name not in left:
            entry.unlink()
    (path / ".leakscope").write_bytes(b"")
    kept = KeptResults(tmp_path / "steps", itertools.count().__next__)
    found = files_of(kept[first])
    assert found.keys() == quiet.keys()
    assert found["model.safetensors"] == quiet["model.safetensors"]
    assert not any((path / "snapshots").iterdir())


def test_an_epoch_of_private_training_draws_every_user_once(corpus):
    private = settings(mitigation=PrivacySettings(noise_multiplier=1.0, rate=0.25))
    assert steps_per_epoch(corpus, private) == 4
    assert steps_per_epoch(corpus, settings()) == -(-corpus.manifest.train.documents // 8)


def test_a_step_tells_of_an_insecure_seed_only_that_there_was_one(corpus):
    def step(seed):
        private = PrivacySettings(noise_multiplier=1.0, rate=0.25, insecure_seed=seed)
        return training_step(corpus, settings(mitigation=private), (12.0,), 4, silent)

    assert "98765" not in json.dumps(dict(step(98765).made_from))
    assert step(98765).name != step(98764).name
