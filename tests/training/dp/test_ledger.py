"""The ledger never loses a step: not in a crash, not by a torn line, not by an edit."""

import random
import re
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import leakscope
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.accounting.phases import Phase
from leakscope.training.dp.dp_settings import LEDGER
from leakscope.training.dp.ledger import Terms, open_ledger, read_phases

TERMS = Terms("abc", "user", 100, 0.1, 1.0, 0.5, 200, insecure=False)

# A training in miniature: it notes in a file of its own, before anything else, that a step begins
# to add noise, and saves a checkpoint now and then. Killed, it goes on from the checkpoint.
TRAINING = """
import os, sys, time
from pathlib import Path
from leakscope.training.dp.ledger import Terms, open_ledger

out = Path(sys.argv[1])
checkpoint = out / "checkpoint"
begun = os.open(out / "begun", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
done = int(checkpoint.read_text()) if checkpoint.exists() else 0
ledger = open_ledger(out, Terms("abc", "user", 100, 0.1, 1.0, 0.5, 200, insecure=False), done)
for step in range(done, 100_000):
    ledger.begin_step(step)
    os.write(begun, b"x")  # here the noise is added
    if step % 7 == 6:
        (out / "partial").write_text(str(step + 1))
        (out / "partial").replace(checkpoint)
"""


def test_killed_at_20_random_points_it_never_counts_too_little(tmp_path):
    rng = random.Random(4)
    source = str(Path(leakscope.__file__).parents[1])
    lost = 0
    for _ in range(20):
        begun = size_of(tmp_path / "begun")
        running = subprocess.Popen(
            [sys.executable, "-c", TRAINING, str(tmp_path)], env={"PYTHONPATH": source}
        )
        wanted = begun + rng.randrange(1, 40)
        while size_of(tmp_path / "begun") < wanted:  # steps are faster than this looks
            assert running.poll() is None
            time.sleep(0.0005)
        running.send_signal(signal.SIGKILL)
        running.wait()
        begun = size_of(tmp_path / "begun")
        assert begun >= wanted
        (phase,) = read_phases(tmp_path)
        assert begun <= phase.steps <= begun + 20  # at most one a kill that never came to noise
        lost += int((tmp_path / "checkpoint").read_text()) < begun
    assert lost > 0  # some kills really lost steps


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def spend(out, steps, terms=TERMS, done=0, **options):
    ledger = open_ledger(out, terms, done, **options)
    for step in range(done, done + steps):
        ledger.begin_step(step)
    ledger.close()
    return ledger


def test_lost_steps_count_as_spent(tmp_path):
    spend(tmp_path, 10)
    ledger = spend(tmp_path, 10, done=6)  # the checkpoint had only 6
    assert ledger.spent == 20
    assert ledger.phases == read_phases(tmp_path) == (Phase(1.0, 0.1, 20),)


def test_a_step_is_on_the_disk_when_begin_step_returns(tmp_path):
    ledger = open_ledger(tmp_path, TERMS, 0)
    for step in range(5):
        ledger.begin_step(step)
        assert read_phases(tmp_path) == (Phase(1.0, 0.1, step + 1),)
    ledger.close()


def test_it_is_plain_text_for_its_owner_only(tmp_path):
    spend(tmp_path, 2)
    lines = (tmp_path / LEDGER).read_text().splitlines()
    for number, line in enumerate(lines[1:]):
        assert re.fullmatch(rf'{{"spent":{number + 1},"step":{number},"chain":"\w{{32}}"}}', line)
    assert '"clip":0.5' in lines[0] and "schedule" not in lines[0]
    assert stat.S_IMODE((tmp_path / LEDGER).stat().st_mode) == 0o600


@pytest.mark.parametrize("cut", range(1, 64))
def test_a_torn_line_counts_as_a_step(tmp_path, cut):
    spend(tmp_path, 3)
    whole = (tmp_path / LEDGER).read_bytes()
    (tmp_path / LEDGER).write_bytes(whole[:-cut])
    assert read_phases(tmp_path) == (Phase(1.0, 0.1, 3),)
    assert spend(tmp_path, 2, done=1).spent == 5
    assert spend(tmp_path, 1, done=3).spent == 6


def test_zeros_after_a_power_cut_count_as_a_step(tmp_path):
    spend(tmp_path, 3)
    with (tmp_path / LEDGER).open("ab") as handle:
        handle.write(b"\0" * 20)
    assert spend(tmp_path, 1, done=3).spent == 5


def test_a_ledger_torn_in_its_first_line_has_no_steps(tmp_path):
    spend(tmp_path, 0)
    whole = (tmp_path / LEDGER).read_bytes()
    (tmp_path / LEDGER).write_bytes(whole[: len(whole) // 2])
    assert read_phases(tmp_path) == ()
    assert spend(tmp_path, 2).spent == 2
    assert read_phases(tmp_path) == (Phase(1.0, 0.1, 2),)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("text", "abd", "another text"),
        ("clip", 1.0, "clip 0.5 before, 1.0 now"),
        ("noise_multiplier", 0.5, "noise multiplier 1.0 before, 0.5 now"),
        ("rate", 0.2, "sampling rate 0.1 before, 0.2 now"),
        ("unit", "document", "unit user before, document now"),
        ("units", 101, "units 100 before, 101 now"),
        ("words_per_user", 100, "words per user 200 before, 100 now"),
        ("insecure", True, "insecure seed False before, True now"),
    ],
)
def test_settings_do_not_change_unless_it_is_said(tmp_path, name, value, said):
    spend(tmp_path, 4)
    changed = replace(TERMS, **{name: value})
    before = (tmp_path / LEDGER).read_bytes()
    with pytest.raises(LeakscopeError, match=rf"\({said}\)"):
        open_ledger(tmp_path, changed, 4)
    assert (tmp_path / LEDGER).read_bytes() == before
    assert spend(tmp_path, 3, changed, done=4, change=True).spent == 7
    assert sum(phase.steps for phase in read_phases(tmp_path)) == 7


def test_other_noise_and_rate_are_phases_of_their_own(tmp_path):
    spend(tmp_path, 4)
    spend(tmp_path, 3, replace(TERMS, rate=0.2), done=4, change=True)
    spend(tmp_path, 2, replace(TERMS, clip=9.0), done=7, change=True)  # costs what the first cost
    assert read_phases(tmp_path) == (Phase(1.0, 0.1, 6), Phase(1.0, 0.2, 3))


@pytest.mark.parametrize(
    "edit",
    [
        lambda lines: lines[:2] + lines[3:],  # a step taken out
        lambda lines: [*lines[:2], "nonsense", *lines[2:]],
        lambda lines: lines[1:],  # without terms
        lambda lines: [lines[0], *lines[2:], lines[1]],
        lambda lines: [lines[0], lines[1][:-3], *lines[2:]],  # torn, but others follow
        lambda lines: [*lines[:3], '{"spent":3,"step":2,"more":1}', *lines[4:]],
    ],
)
def test_an_edited_ledger_is_refused(tmp_path, edit):
    spend(tmp_path, 5)
    lines = (tmp_path / LEDGER).read_text().splitlines()
    (tmp_path / LEDGER).write_text("\n".join(edit(lines)) + "\n")
    with pytest.raises(LeakscopeError, match="damaged or was changed"):
        open_ledger(tmp_path, TERMS, 0)


def test_a_checkpoint_without_its_ledger_is_refused(tmp_path):
    with pytest.raises(LeakscopeError, match="not known"):
        open_ledger(tmp_path, TERMS, 3)
    spend(tmp_path, 2)
    with pytest.raises(LeakscopeError, match="damaged or was changed"):
        open_ledger(tmp_path, TERMS, 3)  # the checkpoint knows of more
