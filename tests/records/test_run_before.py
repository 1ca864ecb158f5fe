"""Manifests and metrics that earlier versions wrote stay readable, and stay what they are."""

import json
from pathlib import Path

import pytest

from leakscope.records.artifacts import write_json
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.audited_model import (
    CallersNetworkRecord,
    CausalModelRecord,
    EndpointRecord,
    progress_of,
    shape_of,
    training_of,
)
from leakscope.records.models.model_config import ModelConfig
from leakscope.records.models.public_model import CrossFittedModelRecord, RetrainedModelRecord
from leakscope.records.runs.run_manifest import RunManifest, open_run
from report_runs import ENDPOINT

BEFORE = Path(__file__).parent / "before"
RUNS = sorted(path.stem.removeprefix("run-manifest-") for path in BEFORE.glob("run-manifest-*"))


@pytest.fixture
def run_of(tmp_path):
    def make(name: str) -> Path:
        for kind in ("manifest", "metrics"):
            text = (BEFORE / f"run-{kind}-{name}.json").read_text()
            (tmp_path / f"{kind}.json").write_text(text)
        return tmp_path

    return make


@pytest.mark.parametrize("name", RUNS)
def test_metrics_keep_every_value_in_its_order(run_of, name):
    """What those versions did not measure is null; what stood before the model, they did say."""
    run = run_of(name)
    before = json.loads((run / "metrics.json").read_text())
    write_json(run / "metrics.json", open_run(run)[1])
    after = json.loads((run / "metrics.json").read_text())
    kept = {key: after[key] for key in after if key in before}
    assert list(kept.items()) == list(before.items())
    interface = open_run(run)[0].settings.interface
    assert (interface is not None) is (name in ("blocked", "conf"))
    assert after.pop("interface") == interface
    assert not any(after[key] for key in after if key not in before)


@pytest.mark.parametrize("name", sorted(set(RUNS) - {"dprun"}))
def test_manifests_keep_every_value(run_of, name):
    run = run_of(name)
    before = json.loads((run / "manifest.json").read_text())
    after = open_run(run)[0].model_dump(mode="json")
    added = {  # settings that those versions did not have
        "phone_region": None, "trained_on": None, "decoy_words": None, "false_discovery_rate": 0.05,
        "audited": None,
    }  # fmt: skip
    assert after["settings"] == before["settings"] | added
    assert after["public"] == before["public"]
    assert {key: after["model"].get(key) for key in before["model"]} == before["model"] or (
        before["model"]["kind"] == "word"  # whose record has a history of its own
    )


def test_each_kind_of_model_is_its_own_record(run_of):
    kinds = {name: type(open_run(run_of(name))[0].model) for name in RUNS}
    assert kinds.pop("stories") is CausalModelRecord
    assert set(kinds.values()) == {ModelConfig}
    public = {name: type(open_run(run_of(name))[0].public) for name in RUNS}
    assert public["tfrun"] is RetrainedModelRecord
    assert public["snaps-epoch-001"] is CrossFittedModelRecord
    assert public["plain3"] is type(None)


def test_what_a_page_asks_of_any_model(run_of):
    word = open_run(run_of("snaps-epoch-001"))[0].model
    assert (progress_of(word).step, progress_of(word).epoch) == (55, 1.0)
    assert shape_of(word).model_dump() == {"kind": "gru", "layers": 1, "hidden": 96}
    assert training_of(word)["epochs"] == 3
    causal = open_run(run_of("stories"))[0].model
    assert shape_of(causal).model_dump() == {"kind": "llama", "layers": 5, "hidden": 64}
    assert progress_of(causal).step is None and training_of(causal) == {}


def manifest_with(model: dict) -> RunManifest:
    plain = json.loads((BEFORE / "run-manifest-plain3.json").read_text())
    return RunManifest.model_validate(plain | {"model": model})


def test_endpoints_and_callers_networks_are_told_apart():
    served = manifest_with(
        ENDPOINT | {"mode": "text", "begin": None, "prompt_words": 9, "extra": {}}
    )
    assert isinstance(served.model, EndpointRecord) and served.model.mode == "text"
    plain = {
        "kind": "causal", "architecture": {"kind": "gpt2"}, "training": {"by": "the caller"},
        "progress": {"step": 7, "epoch": None},
    }  # fmt: skip
    handed = manifest_with(plain)
    assert isinstance(handed.model, CallersNetworkRecord) and progress_of(handed.model).step == 7
    assert handed.model_dump(mode="json")["model"] == plain


def test_a_model_of_no_known_kind_is_refused_in_a_sentence(run_of):
    run = run_of("plain3")
    manifest = json.loads((run / "manifest.json").read_text()) | {"model": {"kind": "oracle"}}
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(LeakscopeError, match="no kind of model that this version knows"):
        open_run(run)
