"""Every line of a ledger is bound to all before it: nothing is changed without being noticed."""

import os
import random
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from leakscope.records.errors import LeakscopeError
from leakscope.training.dp import ledger as ledger_module
from leakscope.training.dp.accounting.phases import Phase
from leakscope.training.dp.dp_settings import LEDGER
from leakscope.training.dp.ledger import Terms, open_ledger, read_phases

BEFORE = Path(__file__).parents[2] / "records" / "before" / "dp"
TERMS = Terms("abc", "user", 100, 0.1, 1.0, 0.5, 200, insecure=False)
LOUDER = replace(TERMS, noise_multiplier=1.5)
FORMAT_1 = (
    b'{"ledger":1,"done":0,"terms":{"text":"abc","unit":"user","units":100,"rate":0.1,'
    b'"noise_multiplier":1.0,"clip":0.5,"words_per_user":200,"insecure":false}}\n'
    b'{"spent":1,"step":0}\n{"spent":2,"step":1}\n'
)


def spend(out, steps, terms=TERMS, done=0, **options):
    ledger = open_ledger(out, terms, done, **options)
    for step in range(done, done + steps):
        ledger.begin_step(step)
    ledger.close()
    return ledger


def two_openings(out):
    spend(out, 2)
    spend(out, 2, LOUDER, done=1, change=True)


def ends_with_an_opening(out):
    two_openings(out)
    spend(out, 0, done=2, change=True)


def torn_between(out):
    spend(out, 3)
    tear(out, 20)
    spend(out, 2, LOUDER, done=1, change=True)


def torn_at_the_end(out):
    two_openings(out)
    tear(out, 9)


def torn_opening(out):
    spend(out, 2)
    before = (out / LEDGER).stat().st_size
    spend(out, 0, done=1)
    with (out / LEDGER).open("r+b") as file:
        file.truncate(before + 40)
    spend(out, 2, LOUDER, done=1, change=True)


def from_format_1(out):
    (out / LEDGER).write_bytes(FORMAT_1)
    spend(out, 2, LOUDER, done=1, change=True)


def from_a_torn_format_1(out):
    (out / LEDGER).write_bytes(FORMAT_1 + b'{"spent":3,"st')
    spend(out, 2, done=2)


def scheduled(out):
    spend(out, 4, replace(TERMS, noise_schedule="2:0.8", rate_schedule="3:2"))


def tear(out, by):
    with (out / LEDGER).open("r+b") as file:
        file.truncate((out / LEDGER).stat().st_size - by)


MADE = {
    two_openings: (Phase(1.0, 0.1, 2), Phase(1.5, 0.1, 2)),
    ends_with_an_opening: (Phase(1.0, 0.1, 2), Phase(1.5, 0.1, 2)),
    torn_between: (Phase(1.0, 0.1, 3), Phase(1.5, 0.1, 2)),
    torn_at_the_end: (Phase(1.0, 0.1, 2), Phase(1.5, 0.1, 2)),
    torn_opening: (Phase(1.0, 0.1, 2), Phase(1.5, 0.1, 2)),
    from_format_1: (Phase(1.0, 0.1, 2), Phase(1.5, 0.1, 2)),
    from_a_torn_format_1: (Phase(1.0, 0.1, 5),),
    scheduled: (Phase(1.0, 0.1, 2), Phase(0.8, 0.1, 1), Phase(0.8, 0.2, 1)),
}


def reading(out, data):
    """What a ledger of these bytes says; None: it is refused."""
    (out / LEDGER).write_bytes(data)
    try:
        return read_phases(out)
    except LeakscopeError as error:
        assert re.search("damaged or was changed|a format that this version cannot", str(error))
        return None


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_no_flipped_bit_changes_what_was_spent(tmp_path, make):
    make(tmp_path)
    data, spent = (tmp_path / LEDGER).read_bytes(), MADE[make]
    assert reading(tmp_path, data) == spent
    refused = 0
    for place, byte in enumerate(data):
        for bit in range(8) if byte == 10 else (place % 8,):  # all bits of line ends
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            found = reading(tmp_path, bytes(flipped))
            assert found in (None, spent), (place, bit)
            refused += found is None
    assert refused > 0.9 * data.rindex(b'{"')  # all but a last line, which may be torn


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_no_line_is_taken_out_repeated_or_moved(tmp_path, make):
    make(tmp_path)
    data = (tmp_path / LEDGER).read_bytes()
    lines = data.splitlines(keepends=True)
    for at in range(len(lines) - 1):
        for other in (
            [*lines[:at], *lines[at + 1 :]],
            [*lines[:at], lines[at], *lines[at:]],
            [*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]],
        ):
            if b"".join(other) != data:
                assert reading(tmp_path, b"".join(other)) is None, at
    if data.endswith(b"\n"):
        assert reading(tmp_path, data + lines[-1]) is None


def test_a_bit_of_an_earlier_opening_no_longer_lowers_what_was_spent(tmp_path):
    """It was read as less noise spent, without a word."""
    two_openings(tmp_path)
    data = (tmp_path / LEDGER).read_bytes()
    assert data.count(b'"noise_multiplier":1.0') == 1
    assert reading(
        tmp_path, data.replace(b'"noise_multiplier":1.0', b'"noise_multiplier":3.0')
    ) is (None)


def test_lines_of_another_ledger_do_not_fit(tmp_path):
    spend(tmp_path, 3)
    ours = (tmp_path / LEDGER).read_bytes().splitlines(keepends=True)
    (tmp_path / LEDGER).unlink()
    spend(tmp_path, 3, LOUDER)
    theirs = (tmp_path / LEDGER).read_bytes().splitlines(keepends=True)
    for at in range(1, 4):
        assert reading(tmp_path, b"".join([*theirs[:at], *ours[at:]])) is None


def test_a_ledger_of_format_1_is_read_and_resumed(tmp_path):
    shutil.copy(BEFORE / LEDGER, tmp_path)
    (before,) = read_phases(tmp_path)
    terms = Terms("03a8856ff84f4857f93fbc46105adbd5", "user", 40, 0.25, 0.5646, 1.0, 500, True)
    assert spend(tmp_path, 2, terms, done=12).spent == before.steps + 2 == 14
    assert read_phases(tmp_path) == (Phase(0.5646, 0.25, 14),)
    assert (tmp_path / LEDGER).read_bytes().startswith((BEFORE / LEDGER).read_bytes())


def test_a_ledger_of_a_later_format_is_refused(tmp_path):
    (tmp_path / LEDGER).write_bytes(FORMAT_1.replace(b'"ledger":1', b'"ledger":3'))
    with pytest.raises(LeakscopeError, match="a format that this version cannot read"):
        read_phases(tmp_path)


def test_lines_that_a_checkpoint_knows_cannot_be_cut_off(tmp_path):
    ledger = spend(tmp_path, 6)
    data = (tmp_path / LEDGER).read_bytes().splitlines(keepends=True)
    (tmp_path / LEDGER).write_bytes(b"".join(data[:-2]))  # 4 steps
    with pytest.raises(LeakscopeError, match="damaged or was changed"):
        open_ledger(tmp_path, TERMS, 5)  # more are in the weights
    with pytest.raises(LeakscopeError, match="damaged or was changed"):
        open_ledger(tmp_path, TERMS, 3, known=ledger.head)  # two were lost, yet spent
    (tmp_path / LEDGER).write_bytes(b"".join(data))
    assert spend(tmp_path, 1, done=3, known=ledger.head).spent == 7


def test_a_full_disk_leaves_no_torn_line(tmp_path, monkeypatch):
    spend(tmp_path, 2)
    before, write = (tmp_path / LEDGER).read_bytes(), os.write
    monkeypatch.setattr(ledger_module.os, "write", lambda file, data: write(file, data[:7]))
    for _ in range(2):
        with pytest.raises(LeakscopeError, match="is the disk full"):
            open_ledger(tmp_path, TERMS, 2)
    monkeypatch.undo()
    assert (tmp_path / LEDGER).read_bytes() == before
    ledger = open_ledger(tmp_path, TERMS, 2)
    monkeypatch.setattr(ledger_module.os, "write", lambda file, data: write(file, data[:7]))
    with pytest.raises(LeakscopeError, match="is the disk full"):
        ledger.begin_step(2)
    monkeypatch.undo()
    ledger.begin_step(2)  # goes on with the chain
    ledger.close()
    assert read_phases(tmp_path) == (Phase(1.0, 0.1, 3),)


def test_random_histories_are_read_as_they_were_written(tmp_path):
    """Against a plain list of steps: openings at any checkpoint, torn lines, other terms."""
    rng = random.Random(6)
    for trial in range(30):
        out = tmp_path / str(trial)
        out.mkdir()
        told: list[float] = []
        reached = 0
        for _ in range(rng.randint(1, 5)):
            done, steps = rng.randint(0, reached), rng.randint(0, 4)
            noise = rng.choice([1.0, 1.5, 2.0])
            terms = replace(TERMS, noise_multiplier=noise, noise_schedule="3:0.5")
            spend(out, steps, terms, done=done, change=True)
            told += [noise * (0.5 if step >= 3 else 1) for step in range(done, done + steps)]
            reached = max(reached, done + steps)
            if steps and rng.random() < 0.5:
                tear(out, rng.randint(1, 50))
        found = {phase.noise_multiplier: phase.steps for phase in read_phases(out)}
        assert found == {noise: told.count(noise) for noise in told}


@pytest.mark.parametrize("place", [20, -200])
def test_a_long_ledger_is_read_and_refused_in_linear_time(tmp_path, monkeypatch, place):
    monkeypatch.setattr(ledger_module, "_sync", lambda file: None)
    spend(tmp_path, 20_000)
    data = bytearray((tmp_path / LEDGER).read_bytes())
    start = time.process_time()
    assert reading(tmp_path, bytes(data)) == (Phase(1.0, 0.1, 20_000),)
    whole = time.process_time() - start
    data[place] ^= 1
    start = time.process_time()
    assert reading(tmp_path, bytes(data)) is None
    assert time.process_time() - start < 5 * whole + 1
