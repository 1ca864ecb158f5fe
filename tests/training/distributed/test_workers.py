"""Whole trainings on several workers: as one worker's, and resumed to the same bits."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from leakscope.models.word.model_directory import load_config
from leakscope.records.errors import LeakscopeError
from leakscope.training.loop import Running, train
from leakscope.training.regularizers.adversarial_settings import AdversarialSettings
from leakscope.training.regularizers.triplet_settings import TripletSettings
from private_training import tiny_corpus
from worker_settings import settings


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def corpus(shared):
    return tiny_corpus(shared / "corpus")


@pytest.fixture(scope="module")
def whole(corpus, shared):
    """Where a training of this kind on so many workers is, that nobody has stopped."""

    def find(kind, workers):
        out = shared / f"{kind}-{workers}"
        if not (out / "config.json").exists():
            train(corpus, out, settings(kind), running=Running(workers=workers))
        return out

    return find


def bits(out):
    return (out / "model.safetensors").read_bytes()


def same_but_for_rounding(one, other):
    one, other = (load_file(out / "model.safetensors") for out in (one, other))
    return all(torch.allclose(one[name], other[name], rtol=1e-4, atol=1e-5) for name in one)


@pytest.mark.parametrize("kind", ["none", "dp"])
def test_two_workers_make_the_model_of_one(whole, kind):
    one, two = whole(kind, 1), whole(kind, 2)
    assert same_but_for_rounding(one, two)
    files = [sorted(str(path.relative_to(out)) for path in out.rglob("*")) for out in (one, two)]
    assert files[0] == files[1]
    histories = [pq.read_table(out / "history.parquet").to_pylist() for out in (one, two)]
    assert len(histories[0]) == len(histories[1]) > 2
    for line, other in zip(*histories, strict=True):
        told = [name for name in line if line[name] is not None and name != "seconds"]
        assert told == [name for name in other if other[name] is not None and name != "seconds"]
        assert [line[name] for name in told] == pytest.approx(
            [other[name] for name in told], rel=1e-4
        )
    configs = [load_config(out) for out in (one, two)]
    assert configs[0].training == configs[1].training
    if kind == "dp":
        assert configs[0].privacy == configs[1].privacy
        assert (one / "privacy.jsonl").read_bytes() == (two / "privacy.jsonl").read_bytes()


def kill_after(steps):
    """Kills a worker after so many steps."""

    def kill(stage, done, total=None, note=""):
        if stage == "train" and done == steps:
            os.kill(active_children()[0].pid, signal.SIGKILL)

    return kill


@pytest.mark.parametrize(
    ("kind", "workers", "steps"),
    [
        ("none", 2, 8),
        ("dp", 2, 5),
        pytest.param("none", 3, 8, marks=pytest.mark.slow),
        pytest.param("dp", 3, 5, marks=pytest.mark.slow),
    ],
)
def test_a_killed_worker_ends_the_training_which_resumes_to_the_same_bits(
    corpus, tmp_path, whole, kind, workers, steps
):
    out, asked, running = tmp_path / "m", settings(kind), Running(workers=workers)
    with pytest.raises(LeakscopeError, match="A worker process died"):
        train(corpus, out, asked, running=running, progress=kill_after(steps))
    held = json.loads((out / "checkpoint.json").read_text())["total_steps"]
    assert steps - 3 < held <= steps
    train(corpus, out, asked, running=running)
    assert bits(out) == bits(whole(kind, workers))
    if kind == "dp":
        found = load_config(out).privacy
        # The step in which the worker was missed may have been begun: then it counts.
        assert steps - held <= found.lost_steps <= steps - held + 1


def test_another_number_of_workers_goes_on_to_the_same_but_for_rounding(corpus, tmp_path, whole):
    class StoppedError(Exception):
        pass

    def stop(stage, done, total=None, note=""):
        if stage == "train" and done == 7:
            raise StoppedError

    with pytest.raises(StoppedError):
        train(corpus, tmp_path / "m", settings("dp"), progress=stop)
    train(corpus, tmp_path / "m", settings("dp"), running=Running(workers=2))
    assert same_but_for_rounding(tmp_path / "m", whole("dp", 1))


@pytest.mark.parametrize("given", [AdversarialSettings(), TripletSettings()])
def test_regularizers_are_for_one_worker(corpus, tmp_path, given):
    asked = replace(settings("none"), mitigation=given)
    with pytest.raises(LeakscopeError, match=r"needs all its texts in one process; leave out --w"):
        train(corpus, tmp_path / "m", asked, running=Running(workers=2))
    assert not (tmp_path / "m").exists()


SCRIPT = """
import signal, sys, time
from pathlib import Path
from leakscope.corpus.store import Corpus
from leakscope.training.loop import Running, train

def progress(stage, done, total=None, note=""):
    if stage == "train":
        time.sleep(0.3)
    print(note, flush=True)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell ignores it
    corpus, out, kind, support = sys.argv[1:]
    sys.path.insert(0, support)
    from worker_settings import settings

    opened, two = Corpus.open(Path(corpus)), Running(workers=2)
    train(opened, Path(out), settings(kind), running=two, progress=progress)
"""


def started(folder, corpus, out, kind):
    """A training on two workers in a session of its own, whose steps take a while."""
    script = folder / "script.py"
    script.write_text(SCRIPT)
    support = Path(__file__).parents[2] / "support"
    return subprocess.Popen(
        [sys.executable, str(script), str(corpus.path), str(out), kind, str(support)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def wait_for(process, holds):
    while not holds():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.002)


def members(session):
    """The processes of a session that still run, but for the one that multiprocessing adds."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, group = stat.read_text().rpartition(")")[2].split()[:4]
            ours = "resource_tracker" not in (stat.parent / "cmdline").read_text()
        except OSError:
            continue
        if int(group) == session and state != "Z" and ours:
            found.append(int(stat.parent.name))
    return found


def wait_until_gone(session):
    until = time.monotonic() + 60
    while members(session):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_killed_or_interrupted_a_training_goes_on_to_the_same_bits(corpus, tmp_path, whole):
    out, checkpoint = tmp_path / "m", tmp_path / "m" / "checkpoint.json"
    killed = started(tmp_path, corpus, out, "dp")
    wait_for(killed, checkpoint.exists)
    killed.kill()
    killed.communicate()
    wait_until_gone(killed.pid)  # the others end by themselves
    held = json.loads(checkpoint.read_text())["total_steps"]
    stopped = started(tmp_path, corpus, out, "dp")
    wait_for(stopped, lambda: json.loads(checkpoint.read_text())["total_steps"] > held)
    os.killpg(stopped.pid, signal.SIGINT)  # as a terminal does: all processes get it
    told, said = stopped.communicate(timeout=60)
    steps = json.loads(checkpoint.read_text())["total_steps"]
    assert told.splitlines()[-1] == f"interrupted; the checkpoint has all {steps} steps of 12"
    assert said.count("Traceback") == 1 and said.splitlines()[-1] == "KeyboardInterrupt"
    wait_until_gone(stopped.pid)
    train(corpus, out, settings("dp"), running=Running(workers=2))
    assert bits(out) == bits(whole("dp", 2))
    lines = (out / "privacy.jsonl").read_bytes().splitlines()
    assert load_config(out).privacy.steps == sum(line.startswith(b'{"spent"') for line in lines)


def test_ctrl_c_while_workers_start_is_for_the_first_process_alone(corpus, tmp_path):
    process = started(tmp_path, corpus, tmp_path / "m", "none")
    wait_for(process, lambda: len(members(process.pid)) == 2)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert said.count("Traceback") == 1 and said.splitlines()[-1] == "KeyboardInterrupt"
    wait_until_gone(process.pid)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["none", "dp"])
def test_killed_at_any_moment_a_training_goes_on_to_the_same_bits(corpus, tmp_path, whole, kind):
    """One of the processes is killed, ten times, at any moment from the first on."""
    out, rng, kills, finished = tmp_path / "m", random.Random(3), 0, 0
    while kills < 10 or not finished:
        process = started(tmp_path, corpus, out, kind)
        if kills < 10:
            time.sleep(rng.uniform(0.0, 12.0))
            if running := members(process.pid):
                os.kill(rng.choice(running), signal.SIGKILL)
                kills += 1
        _, said = process.communicate(timeout=120)
        assert not said or "A worker process died" in said.splitlines()[-1], said
        wait_until_gone(process.pid)
        if (out / "config.json").exists():
            assert bits(out) == bits(whole(kind, 2))
            shutil.rmtree(out)
            finished += 1
