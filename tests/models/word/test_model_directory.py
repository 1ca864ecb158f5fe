"""Model directories: what was saved comes back, and damage is found."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from leakscope.corpus.lexicon import words_digest
from leakscope.models.word.model_directory import architecture_record, load_model, save_model
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.model_config import ModelConfig
from resealed import reseal
from small_models import SMALL, sharp_model

WORDS = ["the", "é", "東", "!"]


@pytest.fixture
def saved(tmp_path):
    def save(kind="lstm"):
        model = sharp_model(kind, WORDS)
        config = ModelConfig(
            architecture=architecture_record(SMALL[kind]),
            vocabulary=len(WORDS),
            vocabulary_digest=words_digest(WORDS),
            lexicon_digest="l",
            corpus_digest="c",
            lowercase=False,
            parameters=1,
            training={},
            progress={},
            versions={},
        )
        save_model(tmp_path / "m", model, config)
        return tmp_path / "m", model

    return save


@pytest.mark.parametrize("kind", SMALL)
def test_a_model_comes_back(saved, kind):
    path, model = saved(kind)
    loaded = load_model(path)
    prefix = ["the", "é", "unknown"]
    assert np.array_equal(loaded.next(prefix).log_probs, model.next(prefix).log_probs)
    assert loaded.next(prefix).entries[-2:] == ["<unk>", "<doc>"]


def test_truncated_weights(saved):
    path, _ = saved()
    weights = path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-20])
    with pytest.raises(LeakscopeError, match="truncated or damaged"):
        load_model(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite(saved, value):
    path, _ = saved()
    tensors = load_file(path / "model.safetensors")
    tensors["output.bias"][1] = value
    save_file(tensors, path / "model.safetensors")
    reseal(path)
    with pytest.raises(LeakscopeError, match=r"not finite: output\.bias"):
        load_model(path)


def test_weights_of_another_shape(saved):
    path, _ = saved()
    save_file({"output.bias": torch.zeros(3)}, path / "model.safetensors")
    reseal(path)
    with pytest.raises(LeakscopeError, match="do not have the shapes"):
        load_model(path)


def test_a_vocabulary_that_does_not_match(saved):
    path, _ = saved()
    (path / "vocabulary.json").write_text(json.dumps(["the", "e", "x", "!"]))
    reseal(path)
    with pytest.raises(LeakscopeError, match="not the one its config was saved with"):
        load_model(path)


@pytest.mark.parametrize("missing", ["config.json", "vocabulary.json", "model.safetensors"])
def test_a_missing_part(saved, missing):
    path, _ = saved()
    (path / missing).unlink()
    with pytest.raises(LeakscopeError, match=f"no {missing}"):
        load_model(path)


def test_a_config_of_another_version_or_no_json(saved):
    path, _ = saved()
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | {"schema_version": 99}))
    reseal(path)
    with pytest.raises(LeakscopeError, match="format 99"):
        load_model(path)
    (path / "config.json").write_text("{")
    reseal(path)
    with pytest.raises(LeakscopeError, match="cannot be read"):
        load_model(path)


def test_not_a_directory(tmp_path):
    with pytest.raises(LeakscopeError, match="not a model directory"):
        load_model(tmp_path / "nowhere")
