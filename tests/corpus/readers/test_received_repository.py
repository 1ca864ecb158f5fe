"""Where repositories keep things, and which of those are followed."""

import os

import pytest

from git_repositories import commit, git, made
from leakscope.corpus.readers import gitlog
from leakscope.corpus.readers.gitlog import commit_row, read_git
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.received_repository import received_repository
from leakscope.corpus.readers.rows import INVALID_UTF8, TOO_LONG, Row
from leakscope.records.errors import LeakscopeError

READ = [Row("ann@x.org", "two"), Row("ann@x.org", "one")]


@pytest.fixture
def repository(tmp_path):
    return made(tmp_path / "received", b"one", b"two")


def rows_of(path):
    return list(read_git(path, InputSettings()))


def refused(path, match):
    with pytest.raises(LeakscopeError, match=match):
        rows_of(path)


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_loose_and_packed_objects_and_references(tmp_path, form, pack):
    path = made(tmp_path / "r", b"one", b"two", options=[f"--object-format={form}"])
    if pack:
        git(path, "pack-refs", "--all")
        git(path, "gc", "-q")
        assert not list((path / ".git" / "refs" / "heads").iterdir())
    assert rows_of(path) == READ
    git(path, "checkout", "-q", "--detach", "HEAD~1")
    assert rows_of(path) == READ[1:]


def test_the_named_repository_wins_over_links_on_the_way(repository, tmp_path):
    (tmp_path / "name").symlink_to(repository)
    assert rows_of(tmp_path / "name") == READ


def test_a_branch_of_a_branch(repository):
    (repository / ".git" / "refs" / "heads" / "alias").write_bytes(
        b"ref: " + git(repository, "symbolic-ref", "HEAD")
    )
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/alias\n")
    assert rows_of(repository) == READ


@pytest.mark.parametrize(
    "head",
    ["ref: refs/../../outside\n", "ref: /etc/passwd\n", "ref: refs/heads/.hidden\n", "nonsense\n",
     "ref: HEAD\n", "ref: refs/heads/a b\n", "--upload-pack=x\n", "", "ref: refs/heads/loop\n"],
)  # fmt: skip
def test_a_head_that_leads_nowhere(repository, head):
    (repository.parent / "outside").write_text("12" * 20)
    (repository / ".git" / "refs" / "heads" / "loop").write_text("ref: refs/heads/loop\n")
    (repository / ".git" / "HEAD").write_text(head)
    refused(repository, "no commits")


def test_a_work_tree_is_followed_only_if_its_repository_knows_it(repository, tmp_path):
    git(repository, "worktree", "add", "-q", "--detach", "../tree", "HEAD~1")
    assert rows_of(tmp_path / "tree") == READ[1:]
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / ".git").write_bytes((tmp_path / "tree" / ".git").read_bytes())
    refused(stranger, "does not know of it: name that folder itself")
    (stranger / ".git").write_text(f"gitdir: {repository}/.git\n")
    refused(stranger, "does not know of it: name that folder itself")
    (stranger / ".git").write_text("gitdir: /nowhere\n")
    refused(stranger, "does not name a git folder")


def test_a_submodule(repository, tmp_path):
    outer = made(tmp_path / "outer", b"outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(repository), "in")
    commit(outer, b"with a module")
    assert rows_of(outer / "in") == READ
    assert [row.text for row in rows_of(outer)] == ["with a module", "outer"]


def test_clones_that_left_something_out(repository, tmp_path):
    source = f"file://{repository}"
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--depth=1", source, "shallow")
    git(tmp_path, "clone", "-q", "--filter=tree:0", "--no-checkout", source, "partial")
    assert rows_of(tmp_path / "shallow") == READ[:1]
    assert rows_of(tmp_path / "partial") == READ


def test_borrowed_objects_are_refused(repository, tmp_path):
    git(tmp_path, "clone", "-q", "--shared", str(repository), "shared")
    refused(tmp_path / "shared", "borrows objects.*git clone --no-local")


def test_reftables_are_refused(repository):
    (repository / ".git" / "reftable").mkdir()
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")
    refused(repository, "reftable files: read a copy")


@pytest.mark.parametrize(
    "name", [".git", ".git/HEAD", ".git/objects", ".git/objects/pack", ".git/refs/heads",
             ".git/packed-refs", ".git/shallow"],
)  # fmt: skip
def test_links_are_not_followed(repository, tmp_path, name):
    git(repository, "pack-refs", "--all")
    (repository / ".git" / "shallow").touch()
    moved = tmp_path / "elsewhere"
    (repository / name).rename(moved)
    (repository / name).symlink_to(moved)
    refused(repository, "is a link or a special file")


def test_a_pipe_among_the_objects_does_not_hold_the_reader(repository):
    name = git(repository, "rev-parse", "HEAD").decode().strip()
    loose = repository / ".git" / "objects" / name[:2] / name[2:]
    loose.unlink()
    os.mkfifo(loose)
    refused(repository, "is a link or a special file")


def test_a_file_that_is_far_too_large(repository):
    (repository / ".git" / "HEAD").write_bytes(b"ref: refs/heads/" + b"x" * (1 << 20))
    refused(repository, "too large")


def test_a_commit_over_the_limit_is_set_aside(repository, monkeypatch):
    commit(repository, b"long " * 1000)
    commit(repository, b"short")
    monkeypatch.setattr(gitlog, "MAX_RECORD", 1000)
    long = Row(None, None, TOO_LONG)
    assert rows_of(repository) == [Row("ann@x.org", "short"), long, *READ]


def test_charsets_of_commits():
    head = b"tree 0\nauthor J\xf6rg <j@x.org> 1 +0000\ncommitter c <c> 1 +0000\n"
    latin = head + b"encoding iso-8859-1\n\ncaf\xe9"
    assert commit_row(latin) == Row("j@x.org", "café")
    assert commit_row(latin.replace(b"j@x.org", b"")) == Row("Jörg", "café")
    assert commit_row(head + b"encoding nonsense\n\n" + "é".encode()) == Row("j@x.org", "é")
    assert commit_row(head + b"encoding punycode\n\ncaf-dma") == Row("j@x.org", "caf-dma")
    assert commit_row(head + b"\ncaf\xe9") == Row(None, None, INVALID_UTF8)
    assert commit_row(b"tree 0\nauthor nobody\n\nhi") == Row(None, "hi")


def test_what_is_found(repository):
    found = received_repository(repository)
    assert found.head == git(repository, "rev-parse", "HEAD").decode().strip()
    assert found.objects == repository / ".git" / "objects" and found.shallow == ()
