"""The directory of a private loop: whose it is, and what a second run into it is told."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import MARKER
from leakscope.training import LoopOptions, PrivacySettings, make_private
from leakscope.training.dp.dp_settings import LEDGER

HOLDER = """
import sys; from pathlib import Path
from leakscope.records.output_claim import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def loop(out, done=0, restart=False, steps=4, **changes):
    network = nn.Linear(4, 1)
    given = {"rate": 0.5, "noise_multiplier": 1.0, "delta": 1e-3} | changes
    return make_private(
        network,
        torch.optim.SGD(network.parameters(), lr=0.1),
        [[torch.full((4,), float(user))] for user in range(12)],
        PrivacySettings(**given),
        steps=steps,
        out=out,
        done=done,
        options=LoopOptions(lambda net, rows: net(rows)[:, 0], torch.stack, restart=restart),
    )


def files(out):
    return {path.name: path.read_bytes() for path in out.iterdir()}


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("target", [None, 3.0])
def test_a_second_run_into_the_same_directory_is_refused(target, finished, tmp_path):
    changes = {} if target is None else {"noise_multiplier": None, "target_epsilon": target}
    with loop(tmp_path / "out", **changes) as private:
        for taken in private:
            if not finished and taken.step == 2:
                break
    before = files(tmp_path / "out")
    with pytest.raises(LeakscopeError, match=r"ledger of \d private steps already; to resume"):
        loop(tmp_path / "out", **changes)
    assert files(tmp_path / "out") == before


def test_it_is_resumed_by_its_number_of_steps(tmp_path):
    with loop(tmp_path / "out") as private:
        private.take()
    assert set(files(tmp_path / "out")) == {LEDGER, MARKER}  # unfinished
    with loop(tmp_path / "out", done=1) as private:
        assert [taken.step for taken in private] == [2, 3, 4]
    assert set(files(tmp_path / "out")) == {LEDGER}
    with loop(tmp_path / "out", done=4) as private:
        assert not list(private)
        assert private.record().steps == 4


def test_lost_steps_can_be_begun_anew_and_count(tmp_path):
    with loop(tmp_path / "out") as private:
        private.take()
    with loop(tmp_path / "out", restart=True) as private:
        assert len(list(private)) == 4
        assert (private.record().steps, private.record().lost_steps) == (5, 1)
    with pytest.raises(LeakscopeError, match="either done"):
        loop(tmp_path / "out", restart=True, done=1)


def test_nothing_is_trained_where_nothing_is_left(tmp_path):
    target = {"noise_multiplier": None, "target_epsilon": 3.0}
    with loop(tmp_path / "out", **target) as private:
        list(private)
    with pytest.raises(LeakscopeError, match="no step is left"):
        loop(tmp_path / "out", restart=True, **target)


def test_a_directory_that_is_somebody_elses_stays_as_it_is(tmp_path):
    out = tmp_path / "out"
    for name in ("thesis.txt", LEDGER):
        out.mkdir(exist_ok=True)
        (out / "thesis.txt").write_text("mine")
        (out / name).touch()
        before = files(out)
        with pytest.raises(LeakscopeError, match="already exists"):
            loop(out)
        assert files(out) == before


def test_a_ledger_that_is_none_is_refused(tmp_path):
    (tmp_path / LEDGER).write_text('{"somebody": "else"}\n{"and": "more"}\n')
    before = files(tmp_path)
    with pytest.raises(LeakscopeError, match="damaged or was changed"):
        loop(tmp_path)
    assert files(tmp_path) == before


def test_another_commands_directory_is_refused(tmp_path):
    (tmp_path / MARKER).write_text('{"unfinished":"report","version":1}')
    with pytest.raises(LeakscopeError, match="unfinished report"):
        loop(tmp_path)
    assert set(files(tmp_path)) == {MARKER}


def test_two_loops_do_not_share_a_directory(tmp_path):
    first = loop(tmp_path / "out")
    with pytest.raises(LeakscopeError, match="Another leakscope"):
        loop(tmp_path / "out")
    first.take()
    first.close()
    assert loop(tmp_path / "out", done=1).take().step == 2


def test_two_processes_do_not_share_a_directory(tmp_path):
    out = tmp_path / "out"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LeakscopeError, match="Another leakscope"):
            loop(out)
        holder.stdin.close()
        holder.wait()
    loop(out).take()


def test_a_refused_start_leaves_nothing(tmp_path):
    with pytest.raises(LeakscopeError, match="not known"):
        loop(tmp_path / "out", done=2)
    assert not (tmp_path / "out").exists()


def test_adapters_may_lie_beside_the_ledger(tmp_path):
    with loop(tmp_path) as private:
        private.take()
        (tmp_path / "adapter").mkdir()
    with loop(tmp_path, done=1) as private:
        list(private)
    with loop(tmp_path, done=4) as private:
        assert private.record().steps == 4
    assert (tmp_path / "adapter").is_dir()
