"""Files that the first version wrote (kept in `before/`) load with all their values."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from leakscope.auditing.training_recipe import Recipe, differences_from, settings_of
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.model_directory import load_config
from leakscope.records.artifacts import digest_of
from leakscope.records.models.audited_model import mitigation_of
from leakscope.records.models.dp_record import PrivacyRecord
from leakscope.records.models.earlier_config import (
    current_config,
    current_training,
    digested_training,
)
from leakscope.records.models.mitigation_record import MitigationRecord, PlainRecord
from leakscope.records.models.mitigation_settings import without_seed
from leakscope.records.models.model_config import ModelConfig
from leakscope.records.runs.run_manifest import open_run
from leakscope.reporting.facts.guarantee import guarantee_of
from leakscope.training.checkpoint import find_checkpoint
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.ledger import read_phases
from leakscope.training.identity import Identity
from leakscope.training.mitigations.plain_settings import PlainSettings
from leakscope.training.train_settings import TrainSettings

BEFORE = Path(__file__).parent / "before"
PLAIN = ["gru", "demo-model"]
UNFINISHED = {
    "plain": PlainSettings(),
    "dp": PrivacySettings(rate=0.25, noise_multiplier=1.0, insecure_seed=5),
}


def raw(path):
    return json.loads((BEFORE / path).read_text())


def values(given):
    """All values with where they stand."""
    if isinstance(given, dict):
        return {(k, *rest): v for k, each in given.items() for rest, v in values(each).items()}
    return {(): given}


def moved(where):
    """Where a value of the first version stands today."""
    names = {"privacy": "mitigation"}
    return tuple(names.get(name, name) for name in where[:2]) + where[2:]


@pytest.mark.parametrize("name", [*PLAIN, "dp"])
def test_a_config_keeps_every_value(name):
    old, config = raw(f"{name}/config.json"), load_config(BEFORE / name)
    found = values(config.model_dump(mode="json"))
    for where, value in values(old).items():
        if where == ("schema_version",):
            assert (value, found[where]) == (1, 2)
        elif where != ("privacy",):  # null: no mitigation
            assert found[moved(where)] == value, where
    new = {("mitigation", "kind"), ("published",), ("sealed",)} | (
        {("training", "mitigation", "kind")} if name == "dp" else set()
    )
    assert set(found) - {moved(where) for where in values(old)} == new


@pytest.mark.parametrize("name", PLAIN)
def test_plain_models_have_no_mitigation(name):
    config = load_config(BEFORE / name)
    assert config.mitigation == PlainRecord() and config.privacy is None
    assert settings_of(BEFORE / name, config).mitigation == PlainSettings()


def test_the_private_model_has_its_record():
    config = load_config(BEFORE / "dp")
    assert isinstance(config.mitigation, PrivacyRecord)
    assert config.mitigation.model_dump(exclude={"kind"}) == raw("dp/config.json")["privacy"]
    assert config.mitigation.summary() == (
        "dp, epsilon 7.991 at delta 0.017 for one user, insecure seed, which guarantees nothing"
    )
    (spent,) = read_phases(BEFORE / "dp")
    assert (spent.noise_multiplier, spent.rate, spent.steps) == (0.5646, 0.25, 12)


@pytest.mark.parametrize(("name", "private"), [("dprun", True), ("snaps/epoch-001", False)])
def test_runs_tell_the_guarantee_of_their_model(name, private):
    manifest, metrics = open_run(BEFORE / name)
    assert metrics.model_dump(mode="json", exclude_unset=True) == raw(f"{name}/metrics.json")
    found = guarantee_of(manifest)
    if private:
        assert found.record == load_config(BEFORE / "dp").mitigation
        told = without_seed(raw(f"{name}/manifest.json")["model"]["training"])["mitigation"]
        assert told["insecure_seed"] == "given" and told["kind"] == "dp"
    else:
        assert found.record is None and mitigation_of(manifest.model) == PlainRecord()
    config = ModelConfig.model_validate(raw(f"{name}/manifest.json")["model"])
    assert (config.mitigation.kind == "dp") == private


@pytest.mark.parametrize("name", [*PLAIN, "dp"])
def test_models_of_the_first_version_were_trained_alike(name):
    """Also as today would write the same model."""
    old = load_config(BEFORE / name)
    assert "privacy" not in old.training
    if name != "dp":  # which is repeated with its rate and noise: other settings
        assert differences_from(BEFORE / name, old) == []
        assert differences_from(BEFORE / name, load_config(BEFORE / "dp"))
    settings = settings_of(BEFORE / name, old)
    recipe = Recipe(settings, None, None, old.vocabulary_digest, None)
    first = digested_training(settings.shareable())
    as_before = {"schema_version": 1, "training": json.loads(json.dumps(first))}
    config = ModelConfig.model_validate(raw(f"{name}/config.json") | as_before)
    assert recipe.differences(config) == []
    assert ("privacy" in first) == (name == "dp") and "mitigation" not in first
    assert recipe.key("users", "corpus")[1] == first, (
        "directories of public models keep their names"
    )


@pytest.mark.parametrize("name", UNFINISHED)
def test_an_unfinished_training_is_recognised(name, tmp_path):
    """Its digest was made of the settings as they were called then."""
    state = raw(f"unfinished/{name}.json")
    inputs = {key: state["made_with"][key] for key in ("corpus", "from", "lexicon")}
    (tmp_path / "checkpoint.json").write_text(json.dumps(state))

    def identity(**changes):
        settings = TrainSettings(
            Architecture("gru", 1, 16, 24),
            **{"vocabulary": 500, "epochs": 2, "checkpoint_steps": 3} | changes,
            mitigation=UNFINISHED[name],
        )
        digest = digest_of({"settings": digested_training(settings.record()), **inputs})
        return Identity(digest, {"settings": settings.shareable(), **inputs})

    found = find_checkpoint(tmp_path, identity())
    assert found.history == state["history"] and found.total_steps == state["total_steps"]
    assert "epochs 2 before, 3 now" in identity(epochs=3).changes(state["made_with"])
    assert identity().changes(state["made_with"]) == "insecure seed", "nothing that is told differs"


@pytest.mark.parametrize("name", [*PLAIN, "dp"])
def test_what_is_of_today_stays_as_it_is(name):
    once = current_config(raw(f"{name}/config.json"))
    assert current_config(once) == once
    assert current_training(once["training"]) == once["training"]
    assert digested_training(once["training"]) == raw(f"{name}/config.json")["training"]


def test_a_mitigation_of_elsewhere_is_kept_and_named():
    given = raw("gru/config.json") | {"mitigation": {"kind": "shy", "weight": 0.5, "of": [1, 2]}}
    config = ModelConfig.model_validate(given)
    assert type(config.mitigation) is MitigationRecord and config.privacy is None
    assert config.mitigation.summary() == "shy, weight 0.5"
    again = ModelConfig.model_validate_json(config.model_dump_json())
    assert again == config and again.mitigation.of == [1, 2]


def test_settings_and_registry_do_not_import_torch():
    code = (
        "import sys; import leakscope.training.mitigations.registry, "
        "leakscope.training.train_settings, leakscope.training.dp.dp_settings, "
        "leakscope.records.models.model_config; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
