import pytest

from git_repositories import commit, git
from leakscope.corpus.readers.gitlog import read_git, strip_trailers
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import INVALID_UTF8, Row
from leakscope.records.errors import LeakscopeError


@pytest.fixture
def repository(tmp_path):
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init", "-q")
    return path


def rows_of(path):
    return list(read_git(path, InputSettings()))


def test_commits_newest_first(repository):
    commit(repository, b"First\n\nBody: with a colon\n\nSigned-off-by: Ann <ann@x.org>\n")
    commit(repository, "Zweite Änderung\n".encode("latin-1"), "-c", "i18n.commitEncoding=latin1")
    commit(repository, b"no address", GIT_AUTHOR_EMAIL="")
    expected = [
        Row("Ann", "no address"),
        Row("ann@x.org", "Zweite Änderung"),
        Row("ann@x.org", "First\n\nBody: with a colon"),
    ]
    assert rows_of(repository) == expected
    git(repository, "clone", "-q", "--bare", ".", "../bare.git")
    assert rows_of(repository.parent / "bare.git") == expected
    git(repository, "worktree", "add", "-q", "../tree")
    assert rows_of(repository.parent / "tree") == expected


def test_invalid_bytes_set_one_commit_aside(repository):
    commit(repository, b"good")
    # `git commit` would guess Latin-1 and mend it, so the object is written raw.
    person = b"Ann <ann@x.org> 1577836800 +0000\n"
    tree, parent = git(repository, "rev-parse", "HEAD^{tree}", "HEAD").split()
    raw = b"tree %s\nparent %s\nauthor %scommitter %s\ncaf\xe9" % (tree, parent, person, person)
    name = git(repository, "hash-object", "-t", "commit", "-w", "--stdin", data=raw)
    git(repository, "reset", "-q", "--soft", name.decode().strip())
    commit(repository, b"good")
    good = Row("ann@x.org", "good")
    assert rows_of(repository) == [good, Row(None, None, INVALID_UTF8), good]


def test_a_message_longer_than_one_read(repository):
    words = "word " * 40_000 + "end"
    commit(repository, words.encode())
    commit(repository, b"short")
    assert [row.text for row in rows_of(repository)] == ["short", words]


def test_git_dir_of_a_hook_does_not_win(repository, tmp_path, monkeypatch):
    commit(repository, b"right")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    commit(other, b"wrong")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert rows_of(repository) == [Row("ann@x.org", "right")]


def test_settings_of_the_user_do_not_matter(repository):
    commit(repository, b"good")
    git(repository, "config", "log.showSignature", "true")
    git(repository, "config", "color.ui", "always")
    git(repository, "config", "i18n.logOutputEncoding", "latin1")
    commit(repository, "é".encode())
    assert [row.text for row in rows_of(repository)] == ["é", "good"]


def test_no_commits_is_an_error(repository):
    with pytest.raises(LeakscopeError, match="no commits"):
        rows_of(repository)


def test_a_folder_inside_of_a_repository_is_an_error(repository):
    commit(repository, b"good")
    (repository / "inside").mkdir()
    with pytest.raises(LeakscopeError, match="inside is not a git repository"):
        rows_of(repository / "inside")


def test_a_missing_git_is_an_error(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LeakscopeError, match="git is not installed"):
        rows_of(repository)


def test_a_damaged_history_is_an_error(repository):
    for text in (b"one", b"two", b"three"):
        commit(repository, text)
    name = git(repository, "rev-parse", "HEAD~1").decode().strip()
    (repository / ".git" / "objects" / name[:2] / name[2:]).unlink()
    with pytest.raises(LeakscopeError, match="git fsck"):
        rows_of(repository)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("Do it\n\nCo-authored-by: B <b@x>\nChange-Id: I12\n", "Do it"),
        ("Do it\n\nWhy\n\nCc: b@x\n\nReviewed-by: B", "Do it\n\nWhy"),
        ("Do it\n\nWhy\n(cherry picked from commit 12ab)", "Do it\n\nWhy"),
        ("Do it\n\nNote: stays", "Do it\n\nNote: stays"),
        ("Do it\n\nAcked-by: A\nbut more", "Do it\n\nAcked-by: A\nbut more"),
        ("Fixes: a subject stays", "Fixes: a subject stays"),
        ("", ""),
    ],
)
def test_strip_trailers(message, text):
    assert strip_trailers(message) == text
