"""What every registered mitigation owes a training: the same bits after a kill, a record that is
read back, settings that can be given again, options by name.
"""

import json
from dataclasses import fields, replace

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from leakscope.auditing.training_recipe import differences_from, settings_of
from leakscope.commands.option_tables import named_options
from leakscope.models.word.model_directory import load_config
from leakscope.records.models.mitigation_record import MitigationRecord
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.loop import train
from leakscope.training.mitigations.plain_settings import PLAIN
from leakscope.training.mitigations.registry import MITIGATIONS, registered
from leakscope.training.regularizers.adversarial_settings import AdversarialSettings
from leakscope.training.regularizers.triplet_settings import TripletSettings
from leakscope.training.train_settings import TrainSettings
from private_training import TINY, tiny_corpus

USUAL = {
    "none": PLAIN,
    "dp": PrivacySettings(rate=0.3, noise_multiplier=0.7, insecure_seed=11),
    "adversarial": AdversarialSettings(2.0, 1.5, 3, discriminator_width=20, discriminator_steps=3),
    "triplet": TripletSettings(2.0, 1.5, 3),
}


@pytest.fixture
def corpus(tmp_path):
    return tiny_corpus(tmp_path / "corpus")


def settings(kind, arch="gru", **changes):
    words = TINY[arch].context if arch == "transformer" else 256
    given = {
        "vocabulary": 50, "epochs": 3, "batch_size": 8, "checkpoint_steps": 4,
        "max_words": words, **changes,
    }  # fmt: skip
    return TrainSettings(TINY[arch], mitigation=USUAL[kind], **given)


class StoppedError(Exception):
    pass


def stop_after(steps):
    def stop(stage, done, total=None, note=""):
        if stage == "train" and done == steps:
            raise StoppedError

    return stop


def test_all_of_them_are_tried_here():
    assert set(USUAL) == set(MITIGATIONS)
    assert all(registered(kind).settings is type(given) for kind, given in USUAL.items())


@pytest.mark.parametrize("arch", TINY)
@pytest.mark.parametrize("kind", ["adversarial", "triplet"])
def test_stopped_anywhere_a_regularized_training_resumes_to_equal_bits(
    corpus, tmp_path, kind, arch
):
    asked = settings(kind, arch)
    train(corpus, tmp_path / "whole", asked)
    for stop in (6, 15):  # within an epoch, and at the end of one
        out = tmp_path / f"parts-{stop}"
        with pytest.raises(StoppedError):
            train(corpus, out, asked, progress=stop_after(stop))
        train(corpus, out, asked)
        same(tmp_path / "whole", out)


def same(first, second):
    left, right = (load_file(path / "model.safetensors") for path in (first, second))
    assert all(torch.equal(left[name], right[name]) for name in left)
    assert load_config(first).mitigation == load_config(second).mitigation
    tables = [
        pq.read_table(path / "history.parquet").drop(["seconds"]).to_pylist()
        for path in (first, second)
    ]
    assert tables[0] == tables[1]


@pytest.mark.parametrize("kind", MITIGATIONS)
def test_its_record_comes_back_and_its_settings_make_another_training(corpus, tmp_path, kind):
    train(corpus, tmp_path / "m", settings(kind))
    config = load_config(tmp_path / "m")
    typed = registered(kind).record().model_validate(config.mitigation.model_dump())
    assert typed.kind == kind and typed.summary().startswith(kind)
    assert typed.model_dump() == config.mitigation.model_dump()
    told = json.loads((tmp_path / "m" / "config.json").read_text())["mitigation"]
    assert isinstance(MitigationRecord.model_validate(told), MitigationRecord)
    again = settings_of(tmp_path / "m", config)
    assert again.mitigation.kind == kind
    same = not differences_from(tmp_path / "m", config)
    assert same == (kind != "dp")  # noise was drawn by a seed
    train(corpus, tmp_path / "again", replace(again, epochs=1))


@pytest.mark.parametrize("kind", MITIGATIONS)
def test_every_option_of_it_is_an_option_of_train_with_help(kind):
    options = named_options("train")
    for field in fields(registered(kind).settings):
        name = field.metadata.get("option", field.name)
        assert name in options and options[name].help, name


@pytest.mark.parametrize("kind", ["adversarial", "triplet"])
def test_the_history_tells_the_privacy_loss(corpus, tmp_path, kind):
    train(corpus, tmp_path / "m", settings(kind))
    lines = pq.read_table(tmp_path / "m" / "history.parquet").to_pylist()
    assert [line["privacy_weight"] for line in lines] == pytest.approx([4 / 3, 2.0, 2.0])
    assert all(line["privacy_loss"] is not None for line in lines)
    record = load_config(tmp_path / "m").mitigation
    assert record.privacy_loss == lines[-1]["privacy_loss"]
    if kind == "adversarial":
        assert all(0 <= line["discriminator_accuracy"] <= 1 for line in lines)
        assert record.authors == 23
    kept = load_config(tmp_path / "m" / "snapshots" / "epoch-001").mitigation
    assert kept.privacy_loss == lines[0]["privacy_loss"]


@pytest.mark.parametrize("kind", ["adversarial", "triplet"])
def test_without_weight_it_is_plain_training_to_the_bit(corpus, tmp_path, kind):
    watching = replace(USUAL[kind], privacy_weight=0.0, users_per_batch=None)
    train(corpus, tmp_path / "watched", replace(settings(kind), mitigation=watching))
    train(corpus, tmp_path / "plain", settings("none"))
    weights = [load_file(tmp_path / name / "model.safetensors") for name in ("watched", "plain")]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    train(corpus, tmp_path / "m", settings(kind))
    other = load_file(tmp_path / "m" / "model.safetensors")
    assert not torch.equal(other["embedding.weight"], weights[1]["embedding.weight"])
