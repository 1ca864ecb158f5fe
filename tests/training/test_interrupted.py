"""Ctrl-C in a training."""

import json
import signal
from dataclasses import replace

import pytest

from leakscope.models.word.model_directory import load_config
from leakscope.training.dp.ledger import read_phases
from leakscope.training.loop import Running, train
from leakscope.training.mitigations.plain_settings import PlainSettings
from private_training import private, tiny_corpus


@pytest.fixture(autouse=True)
def _usual_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def corpus(tmp_path):
    return tiny_corpus(tmp_path / "corpus")


def clock(call, presses):
    """A clock that presses Ctrl-C when it is read for the so many-th time, twice in each step."""
    calls = 0

    def read():
        nonlocal calls
        calls += 1
        for _ in range(presses if calls == call else 0):
            signal.raise_signal(signal.SIGINT)
        return 0.0

    return read


def settings(kind):
    found = private(epochs=4, checkpoint_steps=1000, snapshot_steps=1000)
    return found if kind == "dp" else replace(found, mitigation=PlainSettings())


@pytest.mark.parametrize("kind", ["dp", "none"])
@pytest.mark.parametrize("call", [1, 9, 10])  # in the first step, in the fifth and right after it
def test_the_step_is_finished_and_kept(corpus, tmp_path, kind, call):
    out, asked = tmp_path / "m", settings(kind)
    told = []

    def progress(stage, done, total=None, note=""):
        told.append((stage, note))

    with pytest.raises(KeyboardInterrupt):
        train(corpus, out, asked, running=Running(clock=clock(call, 1)), progress=progress)
    steps = (call + 1) // 2
    assert json.loads((out / "checkpoint.json").read_text())["total_steps"] == steps
    assert told[-1][0] == "checkpoint" and f"all {steps} steps of" in told[-1][1]
    if kind == "dp":
        assert sum(phase.steps for phase in read_phases(out)) == steps
    train(corpus, out, asked)
    train(corpus, tmp_path / "whole", asked)
    weights = [(tmp_path / each / "model.safetensors").read_bytes() for each in ("m", "whole")]
    assert weights[0] == weights[1]
    if kind == "dp":
        assert load_config(out).privacy.lost_steps == 0


def test_what_was_due_after_the_step_is_made_up_for(corpus, tmp_path):
    asked = private(epochs=2, checkpoint_steps=1000, snapshot_steps=1)
    with pytest.raises(KeyboardInterrupt):
        train(corpus, tmp_path / "m", asked, running=Running(clock=clock(3, 1)))
    assert not (tmp_path / "m" / "snapshots" / "step-0000002").exists()
    train(corpus, tmp_path / "m", asked)
    assert (tmp_path / "m" / "snapshots" / "step-0000002" / "config.json").exists()


def test_the_second_time_it_stops_at_once(corpus, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(corpus, tmp_path / "m", settings("dp"), running=Running(clock=clock(9, 2)))
    # That of the first epoch, of 4 steps, is there and no later one.
    assert json.loads((tmp_path / "m" / "checkpoint.json").read_text())["total_steps"] == 4
