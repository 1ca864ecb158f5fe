"""What a manifest says of inputs that somebody else made."""

from git_repositories import git, made
from leakscope.corpus.building.builder import build


def test_a_repository_is_described_by_its_head_without_its_settings(tmp_path, monkeypatch):
    path = made(tmp_path / "received", b"one two", b"three four")
    head = git(path, "rev-parse", "HEAD").decode().strip()
    (path / ".git" / "config").write_text("[core\n")  # git itself would stop at this
    other = made(tmp_path / "other", b"five")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))  # as in a hook
    (described,) = build(path, tmp_path / "corpus").manifest.inputs
    assert (described.format, described.digest) == ("git", head)


def test_a_link_out_of_a_maildir_is_not_read_for_the_digest(tmp_path):
    path, outside = tmp_path / "mail", tmp_path / "outside"
    for part in ("cur", "new"):
        (path / part).mkdir(parents=True)
    (path / "cur" / "1").write_bytes(b"From: ann@x.org\n\nhello there\n")
    (path / "cur" / "2").symlink_to(outside)
    digests = set()
    for number, content in enumerate((b"From: bob@x.org\n\nhi\n", b"a secret")):
        outside.write_bytes(content)
        corpus = build(path, tmp_path / f"corpus{number}")
        digests.add(corpus.manifest.inputs[0].digest)
    assert len(digests) == 1
