"""Directories are taken by one process at a time, and lose only what is ours."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leakscope.records.artifacts import is_partial, whole_file, write_text
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import MARKER, claimed, locked, new_file

KILLED = """
import os, signal, sys
from pathlib import Path
from leakscope.records.output_claim import claimed
with claimed(Path(sys.argv[1]), "report"):
    (Path(sys.argv[1]) / "half").write_text("done")
    os.kill(os.getpid(), signal.SIGKILL)
"""
RACER = """
import sys, time
from pathlib import Path
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import claimed
out, inside = Path(sys.argv[1]), Path(sys.argv[2])
for _ in range(int(sys.argv[3])):
    try:
        with claimed(out, "report"):
            inside.touch(exist_ok=False)  # fails if another process is in here
            time.sleep(0.0005)
            inside.unlink()
            raise KeyboardInterrupt
    except (LeakscopeError, KeyboardInterrupt):
        pass
"""


def killed_in(out: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", KILLED, out], check=False)
    assert ran.returncode == -signal.SIGKILL


def content(out: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(out)): path.read_bytes() if path.is_file() else None
        for path in sorted(out.rglob("*"))
    }


def test_a_finished_directory_holds_no_mark(tmp_path):
    with claimed(tmp_path / "out", "report") as claim:
        assert (tmp_path / "out" / MARKER).stat().st_mode & 0o777 == 0o600
        (claim.path / "result").write_text("1")
    assert content(tmp_path / "out") == {"result": b"1"}
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("entry", [".work/", ".building/", "notes.txt", ".a.123.partial"])
def test_what_is_not_marked_is_refused_and_stays_as_it_is(tmp_path, entry):
    tmp_path.chmod(0o755)
    (tmp_path / entry).mkdir() if entry.endswith("/") else (tmp_path / entry).write_text("mine")
    before = content(tmp_path)
    with pytest.raises(LeakscopeError, match="already exists"), claimed(tmp_path, "report"):
        pytest.fail("claimed")
    assert content(tmp_path) == before
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_killed_command_is_taken_up_by_the_same_one_only(tmp_path):
    out = tmp_path / "out"
    killed_in(out)
    before = content(out)
    with (
        pytest.raises(LeakscopeError, match="unfinished report; finish that"),
        claimed(out, "train"),
    ):
        pytest.fail("claimed")
    assert content(out) == before
    with claimed(out, "report") as claim:
        claim.clear(("half",))
    assert content(out) == {}


def test_leftovers_stay_if_something_else_is_among_them(tmp_path):
    out = tmp_path / "out"
    killed_in(out)
    (out / "notes.txt").write_text("mine")
    before = content(out)
    with pytest.raises(LeakscopeError, match="already exists"), claimed(out, "report") as claim:
        claim.clear(("half",))
    assert content(out) == before


def test_links_among_leftovers_go_and_what_they_lead_to_stays(tmp_path):
    out, mine = tmp_path / "out", tmp_path / "mine"
    killed_in(out)
    mine.mkdir()
    (mine / "notes.txt").write_text("mine")
    (out / "shards").symlink_to(mine)
    with claimed(out, "report") as claim:
        claim.clear(("half", "shards"))
        assert list(content(out)) == [MARKER]
    assert (mine / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("words", ["{}", "not ours", '{"unfinished": "report", "more": 1}'])
def test_a_mark_that_is_not_ours_is_refused(tmp_path, words):
    (tmp_path / MARKER).write_text(words)
    (tmp_path / "half").write_text("mine")
    before = content(tmp_path)
    with pytest.raises(LeakscopeError, match="not written by"), claimed(tmp_path, "report"):
        pytest.fail("claimed")
    assert content(tmp_path) == before


def test_a_mark_that_leads_elsewhere_is_refused(tmp_path):
    (tmp_path / "secret").write_text("")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / MARKER).symlink_to(tmp_path / "secret")
    with pytest.raises(LeakscopeError, match="already exists"), claimed(tmp_path / "out", "report"):
        pytest.fail("claimed")
    assert (tmp_path / "secret").read_text() == ""


def test_an_empty_mark_is_one_killed_before_its_first_word(tmp_path):
    (tmp_path / MARKER).write_text("")
    with claimed(tmp_path, "report"):
        pass
    (tmp_path / MARKER).write_text("")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(LeakscopeError, match="already exists"), claimed(tmp_path, "report"):
        pytest.fail("claimed")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_failure_that_leaves_nothing_leaves_no_directory(tmp_path):
    for out in (tmp_path / "new", tmp_path):
        with pytest.raises(KeyboardInterrupt), claimed(out, "report"):
            raise KeyboardInterrupt
    assert tmp_path.is_dir() and not content(tmp_path)
    with pytest.raises(KeyboardInterrupt), claimed(tmp_path / "new", "report"):
        (tmp_path / "new" / "half").write_text("done")
        raise KeyboardInterrupt
    with claimed(tmp_path / "new", "report"):
        pass


def test_a_lock_leaves_a_directory_of_somebody_else_as_it_was(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "notes.txt").write_text("mine")
    with locked(tmp_path):
        with pytest.raises(LeakscopeError, match="Another leakscope is writing"), locked(tmp_path):
            pytest.fail("locked twice")
        assert MARKER in content(tmp_path)
    assert content(tmp_path) == {"notes.txt": b"mine"}
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_never_two_at_once_though_marks_come_and_go(tmp_path):
    """Each process claims and gives up the directory many times, so that locks are taken on files
    that have just been removed.
    """
    command = [sys.executable, "-c", RACER, tmp_path / "out", tmp_path / "inside", "400"]
    racers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    said = [racer.communicate(timeout=120)[1] for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0], said


def test_half_written_files_have_a_name_that_nobody_else_gives(tmp_path):
    with pytest.raises(KeyboardInterrupt), whole_file(tmp_path / "a b.json") as partial:
        assert is_partial(partial) and partial.stat().st_mode & 0o777 == 0o600
        raise KeyboardInterrupt
    for name in (".a.123.partial", ".a.leakscope", "a.1-0123abcd.leakscope", MARKER):
        (tmp_path / name).write_text("")
        assert not is_partial(tmp_path / name)
    write_text(tmp_path / "a.json", "{}")
    assert sum(path.name.startswith("a.json") for path in tmp_path.iterdir()) == 1


def test_the_lock_of_a_process_that_is_stopped_holds_until_it_is_killed(tmp_path):
    script = (
        "import sys, time; from pathlib import Path\n"
        "from leakscope.records.output_claim import claimed\n"
        "with claimed(Path(sys.argv[1]), 'report'): time.sleep(600)\n"
    )
    out = tmp_path / "out"
    process = subprocess.Popen([sys.executable, "-c", script, out])
    try:
        while not (out / MARKER).exists() or not (out / MARKER).stat().st_size:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(LeakscopeError, match="Another leakscope"), claimed(out, "report"):
            pytest.fail("claimed")
    finally:
        process.kill()
        process.wait()
    with claimed(out, "report"):
        pass


def test_a_new_file_never_takes_the_place_of_another(tmp_path):
    path = tmp_path / "list"
    with new_file(path) as staged:
        staged.write_text("ours")
        assert not path.exists()
    assert path.read_text() == "ours" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(LeakscopeError, match="already exists"), new_file(path):
        raise AssertionError("it is there")
    other = tmp_path / "other"
    with pytest.raises(LeakscopeError, match="already exists"), new_file(other) as staged:
        staged.write_text("ours")
        other.write_text("theirs")  # put there meanwhile
    assert other.read_text() == "theirs"
    with pytest.raises(KeyboardInterrupt), new_file(tmp_path / "third") as staged:
        staged.write_text("half")
        raise KeyboardInterrupt
    assert sorted(each.name for each in tmp_path.iterdir()) == ["list", "other"]
    nowhere = tmp_path / "no" / "list"
    with pytest.raises(LeakscopeError, match="a folder that is there"), new_file(nowhere):
        pass


def test_a_new_file_where_there_are_no_links(tmp_path, monkeypatch):
    def refused(*_given, **_named):
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", refused)
    with new_file(tmp_path / "list") as staged:
        staged.write_text("ours")
    assert (tmp_path / "list").read_text() == "ours"
    with pytest.raises(LeakscopeError, match="already exists"), new_file(tmp_path / "b") as staged:
        staged.write_text("ours")
        (tmp_path / "b").write_text("theirs")
    assert (tmp_path / "b").read_text() == "theirs"
