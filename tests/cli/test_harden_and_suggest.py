"""Public models, hardening, block lists and action lists, as a user would ask for them."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

TRAIN = ("train", "--arch", "gru", "--embedding", 16, "--hidden", 32, "--batch-size", 16)


@pytest.fixture
def memorized(leakscope, tmp_path):
    """A small synthetic corpus and a model that knows some of it by heart."""
    synth = ("corpus", "synth", "--users", 12, "--words", 8000, "--out", tmp_path / "s")
    assert leakscope(*synth).code == 0
    data = tmp_path / "s" / "data.parquet"
    assert leakscope("corpus", "build", data, "--out", tmp_path / "c").code == 0
    options = ("--learning-rate", 0.02, "--epochs", 6, "--out", tmp_path / "m")
    assert leakscope(*TRAIN, tmp_path / "c", *options).code == 0
    return tmp_path


def broken(model):
    """A copy of a model without its weights."""
    shutil.copytree(model, model.parent / "broken")
    (model.parent / "broken" / "model.safetensors").unlink()
    return model.parent / "broken"


def unique(run):
    rows = pq.read_table(run / "sequences.parquet").to_pylist()
    return {tuple(row["sequence"]) for row in rows if row["users_in_d"] == 1}


def test_crossfit_harden_block_and_suggest(memorized, leakscope, fails):
    here = memorized
    command = ("report", here / "m", here / "c", "--reveal")
    ran = leakscope(
        *command, "--out", here / "r", "--public", "crossfit", "--folds", 2, "--benchmark",
        "--threshold", 2, "--threshold", 50, "--elsewhere", 60,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    metrics = json.loads((here / "r" / "metrics.json").read_text())
    assert metrics["leakage_epsilon"] > 1 and list(metrics["curated"]) == ["2", "50"]
    assert metrics["public_unique_sequences"] is not None and metrics["elsewhere"]
    assert "Against a public model" in (here / "r" / "report.html").read_text()
    # The folds are there now: a snapshot is judged by the same ones, and no training is shown.
    again = leakscope(
        "report", here / "m" / "snapshots" / "epoch-003", here / "c", "--out", here / "r3",
        "--public", "crossfit", "--folds", 2,
    )  # fmt: skip
    assert again.code == 0 and "train" not in again.err

    ran = leakscope("harden", here / "r", "--corpus", here / "c", "--out", here / "h", "--json")
    assert ran.code == 0, ran.err
    points = json.loads(ran.out)
    assert points[-1]["threshold"] is None
    assert points[-1]["unique_sequences"] == metrics["unique_sequences"]
    assert "Privacy against use" in (here / "h" / "harden.html").read_text()
    strict = points[3]
    fresh = leakscope(
        *command, "--out", here / "fresh", "--confidence", strict["threshold"], "--json"
    )
    assert json.loads(fresh.out)["unique_sequences"] == strict["unique_sequences"]

    blocks = here / "h" / "blocklist.bloom"
    ran = leakscope(*command, "--out", here / "b", "--block-list", blocks, "--json")
    behind = json.loads(ran.out)
    assert ran.code == 0, ran.err
    assert unique(here / "r") and not unique(here / "r") & unique(here / "b")
    before = metrics["validation_accuracy"]["1"]
    assert 0 < behind["validation_accuracy"]["1"] <= before
    assert behind["validation_perplexity"] is None
    ran = leakscope(
        "harden", here / "r", "--corpus", here / "c", "--also", here / "b", "--out", here / "h2"
    )
    assert ran.code == 0 and "block list:" in ran.out, ran.err

    lower = ("corpus", "build", here / "s" / "data.parquet", "--lowercase", "--out", here / "lc")
    assert leakscope(*lower).code == 0
    assert leakscope(*TRAIN, here / "lc", "--epochs", 1, "--out", here / "lm").code == 0
    small = ("report", here / "lm", here / "lc", "--out", here / "x")
    assert "lower-cased" in fails(*small, "--block-list", blocks)
    assert "no model.safetensors" in fails(*small, "--public", broken(here / "lm"))
    assert "between 0 and 1" in fails(
        "harden", here / "r", "--corpus", here / "c", "--out", here / "x", "--block-list-rate", 2
    )
    assert not (here / "x").exists()
    assert "name a file" in fails("suggest", here / "r", "--out", here)
    judged = leakscope(
        *command, "--out", here / "own", "--public", here / "m", "--least-context", 0
    )
    assert "audited model itself" in " ".join(judged.out.split())

    listed = json.loads(leakscope("suggest", here / "r", "--most", 3, "--json").out)
    assert len(listed["documents"]) == 3 and isinstance(listed["users"][0]["user"], str)
    shown = leakscope("suggest", here / "r", "--out", here / "actions.jsonl")
    assert "Review users" in shown.out and (here / "actions.jsonl").exists()

    assert "already" in fails("harden", here / "r", "--corpus", here / "c", "--out", here / "h")
    assert "at least 1" in fails("suggest", here / "r", "--most", 0)
    assert "not a model" in fails(*command, "--out", here / "x", "--public", here / "nothing")
    assert "--public" in fails(*command, "--out", here / "x", "--benchmark")
    assert "at least 1" in fails(*command, "--out", here / "x", "--confidence", 0.5)
    assert "positive" in fails(*command, "--out", here / "x", "--threshold", -1)


def test_retrain_judges_without_the_owners(memorized, leakscope):
    here = memorized
    snapshots = here / "m" / "snapshots"
    ran = leakscope(
        "report", snapshots / "epoch-001", here / "c", "--out", here / "r", "--json",
        "--public", "retrain",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    manifest = json.loads((here / "r" / "manifest.json").read_text())
    metrics = json.loads(ran.out)
    assert 0 < metrics["users_with_unique"] < metrics["users"]
    assert manifest["public"]["kind"] == "retrain"
    assert manifest["public"]["users_left_out"] == metrics["users_with_unique"]
    assert metrics["leakage_epsilon"] > 0
