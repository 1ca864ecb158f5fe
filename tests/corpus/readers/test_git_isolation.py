"""What an evil repository would have run, and that it does not: each leaves a marker if run."""

import os
import subprocess

import pytest

from git_repositories import commit, evil_repository, git, made, program, promisor
from leakscope.corpus.readers.gitlog import read_git
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import Row
from leakscope.records.errors import LeakscopeError

READ = [Row("ann@x.org", "two"), Row("ann@x.org", "one")]


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "it-was-run"


@pytest.fixture
def evil(tmp_path, marker):
    return evil_repository(tmp_path / "received", marker)


def rows_of(path):
    return list(read_git(path, InputSettings()))


def test_nothing_that_the_settings_name_is_run(evil, marker):
    assert rows_of(evil) == READ
    assert not marker.exists()


def test_a_missing_commit_is_not_fetched(evil, marker):
    promisor(evil, evil / "evil.sh")
    name = git(evil, "-c", "core.fsmonitor=false", "rev-parse", "HEAD~1").decode().strip()
    (evil / ".git" / "objects" / name[:2] / name[2:]).unlink()
    marker.unlink(missing_ok=True)
    with pytest.raises(LeakscopeError, match="cannot be read to its first commit"):
        rows_of(evil)
    assert not marker.exists()
    # The trap is real: git as it is walks into it.
    subprocess.run(["git", "log"], cwd=evil, capture_output=True, check=False)
    assert marker.exists()


def test_a_head_that_is_missing_is_not_fetched(evil, marker):
    promisor(evil, evil / "evil.sh")
    (evil / ".git" / "HEAD").write_text("12" * 20 + "\n")
    with pytest.raises(LeakscopeError, match="no commits"):
        rows_of(evil)
    assert not marker.exists()


def test_programs_of_the_reader_are_not_run_either(tmp_path, marker, monkeypatch):
    path = made(tmp_path / "received", b"one", b"two")
    script = str(program(tmp_path, marker))
    for name in ("GIT_PAGER", "PAGER", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS"):
        monkeypatch.setenv(name, script)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "alias.rev-list")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"!{script}")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[core]\n\tpager = {script}\n[i18n]\n\tlogOutput = x\n")
    monkeypatch.setenv("HOME", str(home))
    assert rows_of(path) == READ
    assert not marker.exists()


def test_a_replaced_commit_and_a_mailmap_change_nothing(tmp_path):
    path = made(tmp_path / "received", b"one", b"two")
    (path / ".mailmap").write_text("Bob <bob@x.org> <ann@x.org>\n")
    git(path, "add", ".mailmap")
    commit(path, b"three")
    forged = git(path, "commit-tree", "-m", "forged", "HEAD^{tree}").decode().strip()
    git(path, "replace", "HEAD~1", forged)
    assert [row.text for row in rows_of(path)] == ["three", "two", "one"]
    assert {row.user for row in rows_of(path)} == {"ann@x.org"}


def test_a_commit_graph_that_lies_is_not_believed(tmp_path):
    path = made(tmp_path / "received", b"one", b"two")
    git(path, "commit-graph", "write", "--reachable")
    graph = path / ".git" / "objects" / "info" / "commit-graph"
    graph.chmod(0o600)
    graph.write_bytes(graph.read_bytes()[:40] + b"\xff" * 4000)
    assert rows_of(path) == READ


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_somebody_else_is_refused_unless_named_safe(tmp_path, monkeypatch):
    path = made(tmp_path / "received", b"one", b"two")
    git(path, "config", "safe.directory", "*")  # its own word does not count
    os.chown(path / ".git", 12345, 12345)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    for said in ("", "/elsewhere", "*\n\tdirectory ="):
        (home / ".gitconfig").write_text(f"[safe]\n\tdirectory = {said}\n")
        with pytest.raises(LeakscopeError, match=r"belongs to somebody else.*safe.directory"):
            rows_of(path)
    for said in (path, "*", f"{tmp_path}/*"):
        (home / ".gitconfig").write_text(f"[safe]\n\tdirectory = {said}\n")
        assert rows_of(path) == READ
