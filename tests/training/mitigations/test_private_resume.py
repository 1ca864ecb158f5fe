"""What a private training keeps when it is killed, and what it refuses when it is resumed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.models.word.model_directory import load_config
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.accounting.accountant import epsilon
from leakscope.training.loop import train
from leakscope.training.mitigations.plain_settings import PlainSettings
from leakscope.training.train_settings import TrainSettings
from private_training import SEED, private, tiny_corpus


@pytest.fixture
def corpus(tmp_path):
    return tiny_corpus(tmp_path / "corpus")


KILLED = """
import os, random, signal, sys, time
from pathlib import Path
import torch
from leakscope.corpus.store import Corpus
from leakscope.training.dp.ledger import read_phases
from leakscope.training.loop import train
import leakscope.training.mitigations.dp  # once, not in every child, as what the next line imports
torch.optim.Adam([torch.zeros(1, requires_grad=True)])
sys.path.insert(0, {tests!r})
from private_training import private

corpus, out, side = Path({corpus!r}), Path({out!r}), Path({side!r})
side.touch()
settings = private(
    epochs=20, checkpoint_steps=9, snapshot_steps=1000, insecure_seed=None
)


def child():
    file = os.open(side, os.O_WRONLY | os.O_APPEND)

    def progress(stage, done, total=None, note=""):
        if stage == "train":
            os.write(file, b".")  # a step has been taken

    train(Corpus.open(corpus), out, settings, progress=progress)


rng, killed = random.Random(5), 0
while not (out / "config.json").exists():
    # Killed after one to five more steps, at any point of the next; after 20 times no more.
    wanted = side.stat().st_size + rng.randint(1, 5)
    process = os.fork()
    if not process:
        child()
        os._exit(0)
    while killed < 20 and side.stat().st_size < wanted:
        time.sleep(0.0005)
    if killed < 20:
        time.sleep(rng.random() * 0.004)
        os.kill(process, signal.SIGKILL)
        killed += 1
    _, status = os.waitpid(process, 0)
    assert killed < 20 or os.WIFSIGNALED(status) or not status
    spent = sum(phase.steps for phase in read_phases(out))
    taken = side.stat().st_size
    print(killed, spent, taken)
    assert spent >= taken
"""


def test_killed_twenty_times_epsilon_is_never_lower_than_what_was_spent(corpus, tmp_path):
    out, side = tmp_path / "m", tmp_path / "side"
    code = KILLED.format(
        tests=str(Path(__file__).parents[2] / "support"),
        side=str(side),
        corpus=str(corpus.path),
        out=str(out),
    )
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    killed, spent, taken = (int(part) for part in ran.stdout.split()[-3:])
    assert killed == 20
    found = load_config(out).privacy
    assert found.steps == spent >= taken == side.stat().st_size
    assert found.lost_steps == found.steps - load_config(out).progress["step"] > 0
    at_least = epsilon(found.noise_multiplier, found.rate, taken, found.delta)
    assert at_least <= found.epsilon


class StoppedError(Exception):
    pass


def stop_after(steps):
    def stop(stage, done, total=None, note=""):
        if stage == "train" and done == steps:
            raise StoppedError

    return stop


CHANGES = [
    ({"clip": 0.1}, "clip 0.05 before, 0.1 now"),
    ({"noise_multiplier": 0.9}, "noise multiplier 0.7 before, 0.9 now"),
    ({"rate": 0.4}, "sampling rate 0.3 before, 0.4 now"),
    ({"unit": "document"}, "unit user before, document now"),
    ({"words_per_user": 30}, "words per user 20 before, 30 now"),
    ({"delta": 0.01}, "delta none before, 0.01 now"),
]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        *CHANGES,
        ({"rate": None, "users_per_step": 7.0}, "users per step none before, 7.0 now, sampling"),
        ({"snapshot_at_epsilon": (2.0, 3.0)}, "snapshot at epsilon none before, 2.0 3.0 now"),
        ({"insecure_seed": 12}, "(insecure seed)"),
        ({"insecure_seed": None}, "insecure seed given before, none now"),
        ({"learning_rate": 0.02}, "learning rate 0.01 before, 0.02 now"),
    ],
)
def test_a_changed_setting_is_refused_in_the_middle_and_named(corpus, tmp_path, changes, says):
    same = {"checkpoint_steps": 2, "epochs": 1}
    with pytest.raises(StoppedError):
        train(corpus, tmp_path / "m", private(**same), progress=stop_after(3))
    with pytest.raises(LeakscopeError) as refused:
        train(corpus, tmp_path / "m", private(**(same | changes)))
    told = str(refused.value)
    assert says in told
    assert "repeat its settings to resume it, or choose another --out." in told
    assert str(SEED) not in told.replace(str(tmp_path), "")
    train(corpus, tmp_path / "m", private(**same))  # as it was, it goes on
    assert load_config(tmp_path / "m").privacy.steps == 5


@pytest.mark.parametrize(("changes", "says"), CHANGES)
def test_before_any_checkpoint_what_was_spent_holds_the_settings(corpus, tmp_path, changes, says):
    same = {"checkpoint_steps": 100, "epochs": 1}
    with pytest.raises(StoppedError):
        train(corpus, tmp_path / "n", private(**same), progress=stop_after(3))
    if "delta" in changes:
        # Nothing is resumed, and steps cost the same at any delta: all are counted at the new one.
        train(corpus, tmp_path / "n", private(**(same | changes)))
        found = load_config(tmp_path / "n").privacy
        assert found.lost_steps == 3 and found.epsilon == epsilon(0.7, 0.3, 7, 0.01)
        return
    with pytest.raises(LeakscopeError) as refused:
        train(corpus, tmp_path / "n", private(**(same | changes)))
    assert f"other privacy settings ({says}" in str(refused.value)
    assert "repeat them, or train into another --out." in str(refused.value)
    train(corpus, tmp_path / "n", private(**same))
    assert load_config(tmp_path / "n").privacy.lost_steps == 3


def test_calibrated_noise_says_what_it_comes_from(corpus, tmp_path):
    same = {"noise_multiplier": None, "target_epsilon": 4.0, "epochs": 1}
    with pytest.raises(StoppedError):
        train(corpus, tmp_path / "m", private(**same), progress=stop_after(3))
    with pytest.raises(LeakscopeError, match="follows from target epsilon, delta, rate and epochs"):
        train(corpus, tmp_path / "m", private(**same, delta=0.001))


def test_a_checkpoint_names_another_corpus_and_privacy_given_up(corpus, tmp_path):
    with pytest.raises(StoppedError):
        train(corpus, tmp_path / "m", private(checkpoint_steps=2), progress=stop_after(3))
    plain = TrainSettings(**(vars(private(checkpoint_steps=2)) | {"mitigation": PlainSettings()}))
    with pytest.raises(LeakscopeError, match=r"\(differential privacy before\)"):
        train(corpus, tmp_path / "m", plain)
    other = build_rows(
        [Row(f"u{i}", "w1 w2 w3") for i in range(5)], tmp_path / "other",
        settings=BuildSettings(validation=0.0),
    )  # fmt: skip
    with pytest.raises(LeakscopeError, match=r"\(another corpus\)"):
        train(other, tmp_path / "m", private(checkpoint_steps=2))
    # A checkpoint of an older version cannot name them.
    state = json.loads((tmp_path / "m" / "checkpoint.json").read_text())
    del state["made_with"], state["folder_sealed"]
    (tmp_path / "m" / "checkpoints" / state["folder"] / "seal.txt").unlink()
    (tmp_path / "m" / "checkpoint.json").write_text(json.dumps(state))
    with pytest.raises(LeakscopeError, match="other settings or another corpus; repeat"):
        train(corpus, tmp_path / "m", plain)


def test_lost_steps_leave_fewer_within_the_target(corpus, tmp_path):
    changes = {"noise_multiplier": None, "target_epsilon": 4.0, "epochs": 5}
    settings = private(**changes, checkpoint_steps=100, snapshot_steps=100)
    with pytest.raises(StoppedError):
        train(corpus, tmp_path / "m", settings, progress=stop_after(15))
    train(corpus, tmp_path / "m", settings)
    found, steps = load_config(tmp_path / "m").privacy, load_config(tmp_path / "m").progress["step"]
    # A checkpoint at the end of the third epoch held 12 steps; three more were lost.
    assert found.lost_steps == 3 and found.steps == steps + 3 == 20
    assert found.epsilon <= 4.0


def test_lines_cut_off_the_ledger_that_the_checkpoint_knows_are_noticed(corpus, tmp_path):
    settings = private(checkpoint_steps=2, epochs=3)
    with pytest.raises(StoppedError):
        train(corpus, tmp_path / "m", settings, progress=stop_after(3))
    with pytest.raises(StoppedError):  # the third step was lost and is taken again
        train(corpus, tmp_path / "m", settings, progress=stop_after(5))
    ledger = tmp_path / "m" / "privacy.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    assert [line[:9] for line in lines].count(b'{"ledger"') == 2 and len(lines) == 8
    # The weights hold four steps. Without its end the ledger still has four, but one was lost.
    ledger.write_bytes(b"".join(lines[:6]))
    with pytest.raises(LeakscopeError, match="damaged or was changed"):
        train(corpus, tmp_path / "m", settings)
    ledger.write_bytes(b"".join(lines))
    train(corpus, tmp_path / "m", settings)
    assert load_config(tmp_path / "m").privacy.lost_steps == 2
