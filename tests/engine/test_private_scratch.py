"""Temporary directories that only their owner can open, and that do not stay."""

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from leakscope.engine.private_scratch import private_scratch

HOLD = """
import sys, time
from leakscope.engine.private_scratch import private_scratch
with private_scratch(sys.argv[1]) as folder:
    (folder / "text").write_text("secret")
    print(folder, flush=True)
    time.sleep(60)
"""
KIND = f"ls-try{os.getpid()}"


def test_it_is_private_short_and_gone_at_the_end():
    with private_scratch(KIND) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert len(str(folder)) < 60
        (folder / "below").mkdir()
        (folder / "below" / "file").write_text("x")
    assert not folder.exists()


def test_what_a_killed_process_left_is_removed_and_nothing_else():
    started = [
        subprocess.Popen([sys.executable, "-c", HOLD, KIND], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    left, used = (Path(process.stdout.readline().strip()) for process in started)
    started[0].send_signal(signal.SIGKILL)
    started[0].wait()
    assert left.exists()
    with private_scratch(KIND):
        assert not left.exists() and (used / "text").exists()
    started[1].kill()
    started[1].wait()
    with private_scratch(KIND):
        assert not used.exists()
    for process in started:
        process.stdout.close()


def test_many_at_once_do_not_sweep_each_other():
    problems = []

    def use():
        for _ in range(30):
            try:
                with private_scratch(KIND) as folder:
                    (folder / "file").write_text("mine")
                    assert (folder / "file").read_text() == "mine"
            except Exception as error:  # told below, by the thread that may fail
                problems.append(error)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_a_long_temporary_directory_is_not_used(tmp_path, monkeypatch):
    deep = tmp_path / ("deep" * 20)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with private_scratch(KIND) as folder:
        assert folder.parent == Path("/tmp")


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_directory_of_ours_stays(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("leakscope.engine.private_scratch._LONGEST", 1000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    other = tmp_path / "precious"
    other.mkdir()
    place = tmp_path / f"{KIND}-abcdefgh"
    place.write_text("x") if kind == "file" else place.symlink_to(other)
    with private_scratch(KIND):
        assert place.exists() and other.exists()
