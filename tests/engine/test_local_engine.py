"""The map over shards: the same files on one process or several, resumed after a kill."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from leakscope.engine.local_engine import LocalEngine
from leakscope.records.errors import LeakscopeError


@dataclass(frozen=True)
class Squares:
    """Writes i squared and its process; dies or fails where it is told to."""

    die_at: int = -1
    fail_at: int = -1
    name: str = "squares"

    def start(self):
        return self._work

    def _work(self, index: int, target: Path) -> None:
        if index == self.fail_at:
            raise LeakscopeError("It cannot be squared.")
        if index == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        target.write_text(str(index * index))


@dataclass(frozen=True)
class Sleepy:
    """Says who it is, and sleeps."""

    name: str = "sleepy"

    def start(self):
        return self._work

    def _work(self, index: int, target: Path) -> None:
        target.with_suffix(".tmp").write_text(str(os.getpid()))
        target.with_suffix(".tmp").rename(target.with_suffix(".pid"))
        time.sleep(60)


KEYS = [f"key{i}" for i in range(6)]


@pytest.mark.parametrize("workers", [1, 2])
def test_outputs_are_in_order(tmp_path, workers):
    paths = LocalEngine(workers).map(Squares(), KEYS, tmp_path)
    assert [path.read_text() for path in paths] == ["0", "1", "4", "9", "16", "25"]
    assert [path.name for path in paths] == [f"squares-key{i}.parquet" for i in range(6)]


def test_what_is_done_is_not_done_again(tmp_path):
    (tmp_path / "squares-key2.parquet").write_text("kept")
    seen = []
    paths = LocalEngine().map(
        Squares(),
        KEYS,
        tmp_path,
        progress=lambda stage, done, total=None, note="": seen.append(done),
    )
    assert paths[2].read_text() == "kept" and paths[3].read_text() == "9"
    assert seen == [1, 2, 3, 4, 5, 6]
    assert LocalEngine().map(Squares(fail_at=0), KEYS, tmp_path) == paths


def test_a_killed_worker_is_an_error_that_keeps_what_is_done(tmp_path):
    with pytest.raises(LeakscopeError, match="A worker process died in stage squares"):
        LocalEngine(2).map(Squares(die_at=5), KEYS, tmp_path)
    done = {path.name for path in tmp_path.iterdir()}
    assert "squares-key5.parquet" not in done
    paths = LocalEngine(2).map(Squares(), KEYS, tmp_path)
    assert [path.read_text() for path in paths] == ["0", "1", "4", "9", "16", "25"]


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = (
        "import sys, time; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from test_local_engine import LocalEngine, Sleepy\n"
        "if __name__ == '__main__':\n"
        "    LocalEngine(2).map(Sleepy(), ['a', 'b'], Path(sys.argv[2]))\n"
    )
    main = tmp_path / "main.py"
    main.write_text(script)
    here = str(Path(__file__).parent)
    process = subprocess.Popen([sys.executable, str(main), here, str(tmp_path)])
    while len(list(tmp_path.glob("*.pid"))) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    workers = [int(path.read_text()) for path in tmp_path.glob("*.pid")]
    process.kill()
    process.wait()
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline, "orphans"
        time.sleep(0.1)


def test_an_error_in_a_worker_reaches_the_caller(tmp_path):
    with pytest.raises(LeakscopeError, match="cannot be squared"):
        LocalEngine(2).map(Squares(fail_at=3), KEYS, tmp_path)
