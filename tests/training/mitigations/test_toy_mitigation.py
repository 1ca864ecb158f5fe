"""Another mitigation joins by one class and one registration."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

import toy_mitigation
from leakscope.auditing.training_recipe import differences_from, settings_of
from leakscope.commands.compare import compare
from leakscope.commands.report import report
from leakscope.models.word.model_directory import load_config
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.mitigation_record import MitigationRecord
from leakscope.reporting.comparison.compared_table import compare_rows
from leakscope.training.loop import train
from leakscope.training.mitigations.plain_settings import PLAIN
from leakscope.training.mitigations.registry import MITIGATIONS
from leakscope.training.train_settings import TrainSettings
from private_training import TINY, tiny_corpus
from toy_mitigation import ToyRecord, ToySettings

SETTINGS = TrainSettings(
    TINY["gru"], vocabulary=50, epochs=3, batch_size=8, checkpoint_steps=4,
    mitigation=ToySettings(weight=0.5),
)  # fmt: skip


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.setitem(MITIGATIONS, "toy", toy_mitigation.TOY)
    return tiny_corpus(tmp_path / "corpus")


class StoppedError(Exception):
    pass


def stop_after(steps):
    def stop(stage, done, total=None, note=""):
        if stage == "train" and done == steps:
            raise StoppedError

    return stop


def same(first, second):
    """Whether model, extra network, record and history are equal, but for the time."""
    left, right = (load_file(path / "model.safetensors") for path in (first, second))
    assert all(torch.equal(left[name], right[name]) for name in left)
    assert load_config(first).mitigation == load_config(second).mitigation
    tables = [
        pq.read_table(path / "history.parquet").drop(["seconds"]).to_pylist()
        for path in (first, second)
    ]
    assert tables[0] == tables[1]


@pytest.mark.parametrize("stop", [1, 6, 14, 15, 20])
def test_stopped_it_resumes_to_equal_bits(corpus, tmp_path, stop):
    train(corpus, tmp_path / "whole", SETTINGS)
    with pytest.raises(StoppedError):
        train(corpus, tmp_path / "parts", SETTINGS, progress=stop_after(stop))
    train(corpus, tmp_path / "parts", SETTINGS)
    same(tmp_path / "whole", tmp_path / "parts")
    train(corpus, tmp_path / "plain", replace(SETTINGS, mitigation=PLAIN))
    plain, toy = (load_file(tmp_path / name / "model.safetensors") for name in ("plain", "whole"))
    assert not torch.equal(plain["embedding.weight"], toy["embedding.weight"]), "it does something"


CHILD = """
import os, sys, time
from pathlib import Path
sys.path[:0] = [{support!r}, {here!r}]
import toy_mitigation
from leakscope.corpus.store import Corpus
from leakscope.training.loop import train
from test_toy_mitigation import SETTINGS

def slowly(stage, done, total=None, note=""):
    if stage == "train" and done > 17:
        Path({mark!r}).touch()
        time.sleep(60)

toy_mitigation.register()
train(Corpus.open(Path({corpus!r})), Path({out!r}), SETTINGS, progress=slowly)
"""


def test_killed_for_real_it_resumes_to_equal_bits(corpus, tmp_path):
    out, mark = tmp_path / "killed", tmp_path / "mark"
    code = CHILD.format(
        here=str(Path(__file__).parent),
        support=str(Path(__file__).parents[2] / "support"),
        mark=str(mark),
        corpus=str(corpus.path),
        out=str(out),
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())},
    )
    while not mark.exists():
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (out / "config.json").exists()
    kept = {path.name for path in (out / "checkpoints").rglob("*")}
    assert {"extra-probe-model.safetensors", "mitigation.json"} < kept
    train(corpus, out, SETTINGS)
    train(corpus, tmp_path / "whole", SETTINGS)
    same(tmp_path / "whole", out)


def test_its_record_is_in_the_config_and_in_comparisons(corpus, tmp_path, monkeypatch):
    train(corpus, tmp_path / "toy", SETTINGS)
    train(corpus, tmp_path / "plain", replace(SETTINGS, mitigation=PLAIN))
    config = load_config(tmp_path / "toy")
    assert config.training["mitigation"] == {"kind": "toy", "weight": 0.5}
    typed = ToyRecord.model_validate(config.mitigation.model_dump())
    assert typed.weight == 0.5 and typed.seen == 3 * corpus.manifest.train.documents
    assert "loss" not in typed.summary() and typed.summary().startswith("toy, weight 0.5, probe")
    assert differences_from(tmp_path / "toy", config) == []
    assert differences_from(tmp_path / "plain", config)
    assert settings_of(tmp_path / "toy", config) == SETTINGS
    for name in ("toy", "plain"):
        report(tmp_path / name, corpus.path, tmp_path / f"run-{name}", threads=1)
    # Reports are read where the mitigation itself is not known.
    monkeypatch.delitem(MITIGATIONS, "toy")
    assert type(load_config(tmp_path / "toy").mitigation) is MitigationRecord
    runs = compare([tmp_path / "run-toy", tmp_path / "run-plain"], tmp_path / "compared")
    rows = {row["name"]: row["mitigation"] for row in compare_rows(runs)}
    assert rows == {"toy": typed.summary(), "plain": "none"}
    assert typed.summary() in (tmp_path / "compared" / "compare.html").read_text()
    with pytest.raises(LeakscopeError, match="There is no mitigation toy; choose from none, dp"):
        settings_of(tmp_path / "toy", config)


def test_a_change_of_mitigation_is_named(corpus, tmp_path):
    with pytest.raises(StoppedError):
        train(corpus, tmp_path / "m", SETTINGS, progress=stop_after(6))
    with pytest.raises(LeakscopeError, match=r"\(weight 0.5 before, 0.25 now\)"):
        train(corpus, tmp_path / "m", replace(SETTINGS, mitigation=ToySettings(weight=0.25)))
    with pytest.raises(LeakscopeError, match=r"\(toy mitigation before\)"):
        train(corpus, tmp_path / "m", replace(SETTINGS, mitigation=PLAIN))
