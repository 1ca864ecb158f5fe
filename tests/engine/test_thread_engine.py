"""The map on threads: the same files as in one process, started once on each thread."""

import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from leakscope.engine.local_engine import LocalEngine
from leakscope.engine.thread_engine import ThreadEngine
from leakscope.records.errors import LeakscopeError

KEYS = [f"key{i}" for i in range(6)]


@dataclass(frozen=True)
class Squares:
    """Writes i squared; fails where it is told to. Two threads meet before they go on."""

    fail_at: int = -1
    meeting: threading.Barrier | None = None
    started: list[int] = field(default_factory=list)
    name: str = "squares"

    def start(self):
        self.started.append(threading.get_ident())
        return self._work

    def _work(self, index: int, target: Path) -> None:
        if index == self.fail_at:
            raise LeakscopeError("It cannot be squared.")
        if self.meeting is not None:
            self.meeting.wait(30)
        target.write_text(str(index * index))


@pytest.mark.parametrize("threads", [1, 2, 9])
def test_outputs_are_in_order(tmp_path, threads):
    told = []
    paths = ThreadEngine(threads).map(
        Squares(), KEYS, tmp_path, progress=lambda stage, done, total, note: told.append(done)
    )
    assert [path.read_text() for path in paths] == ["0", "1", "4", "9", "16", "25"]
    assert told == [0, 1, 2, 3, 4, 5, 6]


def test_threads_run_at_the_same_time_and_start_once_each(tmp_path):
    stage = Squares(meeting=threading.Barrier(2))
    ThreadEngine(2).map(stage, KEYS, tmp_path)
    assert len(stage.started) == len(set(stage.started)) == 2


def test_what_is_done_is_not_done_again_and_nothing_is_started_for_it(tmp_path):
    stage = Squares()
    for key in KEYS:
        (tmp_path / f"squares-{key}.parquet").write_text("kept")
    paths = ThreadEngine(2).map(stage, KEYS, tmp_path)
    assert {path.read_text() for path in paths} == {"kept"} and not stage.started


@pytest.mark.parametrize("engine", [ThreadEngine(2), LocalEngine()], ids=["threads", "local"])
def test_an_output_that_shards_share_is_made_once(tmp_path, engine):
    told, made = [], []

    @dataclass(frozen=True)
    class Counted(Squares):
        def _work(self, index, target):
            made.append(index)
            super()._work(index, target)

    keys = ["a", "b", "a", "c", "a"]
    paths = engine.map(
        Counted(),
        keys,
        tmp_path,
        progress=lambda stage, done, total, note: told.append((done, total)),
    )
    assert [path.read_text() for path in paths] == ["0", "1", "0", "9", "0"]
    assert sorted(made) == [0, 1, 3]
    assert told == [(2, 5), (3, 5), (4, 5), (5, 5)]


def test_an_error_comes_out_and_what_was_done_stays(tmp_path):
    with pytest.raises(LeakscopeError, match="cannot be squared"):
        ThreadEngine(1).map(Squares(fail_at=3), KEYS, tmp_path)
    assert len(list(tmp_path.iterdir())) >= 3
    paths = ThreadEngine(1).map(Squares(), KEYS, tmp_path)
    assert [path.read_text() for path in paths] == ["0", "1", "4", "9", "16", "25"]
