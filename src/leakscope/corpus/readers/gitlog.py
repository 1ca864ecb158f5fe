"""Commit messages of a git repository, by author."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from leakscope.corpus.letters.charsets import decode_known
from leakscope.corpus.readers.byte_lines import MAX_RECORD
from leakscope.corpus.readers.git_isolation import isolated_git
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import INVALID_UTF8, TOO_LONG, Row
from leakscope.records.errors import LeakscopeError

CHUNK = 1 << 16
TRAILER = re.compile(
    r"[A-Z][A-Za-z]*(-[A-Za-z]+)+:\s|(Cc|CC|Fixes|Closes|Link|Bug|BUG|git-svn-id):\s"
    r"|\(cherry picked from commit [0-9a-f]+\)"
)


def read_git(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield the commits that HEAD reaches, newest first: author's e-mail (or name) and message.

    Nothing of the repository is run, its settings are not read, and nothing is fetched.
    """
    with isolated_git(path) as git:
        if not git.succeeds("rev-parse", "--quiet", "--verify", "HEAD^{commit}"):
            raise LeakscopeError(f"{path} has no commits that git can read: check out a branch.")
        # Leaving the block early closes the pipes, and git stops. Commits are taken raw: git would
        # convert them from any charset that they name.
        with (
            git.start("rev-list", "HEAD") as names,
            git.start("cat-file", "--batch", "--buffer", stdin=names.stdout) as commits,
        ):
            if names.stdout is not None and commits.stdout is not None:
                names.stdout.close()  # cat-file has it
                for raw in _commits(path, commits.stdout):
                    yield Row(None, None, TOO_LONG) if raw is None else commit_row(raw)
        if names.returncode != 0 or commits.returncode != 0:
            raise _cut(path)


def strip_trailers(message: str) -> str:
    """Drop the lines such as Signed-off-by: that end a commit message; the subject stays."""
    lines = message.rstrip().split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or TRAILER.match(lines[-1])):
        lines.pop()
    return "\n".join(lines)


def commit_row(raw: bytes) -> Row:
    """Read a raw commit as git shows it: its last author, and its message up to a NUL."""
    head, _, message = raw.partition(b"\n\n")
    fields = dict(line.partition(b" ")[::2] for line in head.split(b"\n"))
    charset = next(
        (line[9:] for line in head.split(b"\n") if line.startswith(b"encoding ")), b"utf-8"
    )
    name, _, rest = fields.get(b"author", b"").partition(b"<")
    email, closed, _ = rest.partition(b">")
    person = (email or name.strip()) if closed else b""
    try:
        user = _decoded(person, charset)
        text = _decoded(message.partition(b"\0")[0], charset)
    except UnicodeDecodeError:
        return Row(None, None, INVALID_UTF8)
    return Row(user or None, strip_trailers(text))


def _commits(path: Path, stream: IO[bytes]) -> Iterator[bytes | None]:
    """Yield the raw commits of `git cat-file --batch`; None for one over MAX_RECORD bytes."""
    while header := stream.readline(CHUNK):
        parts = header.split()
        if len(parts) != 3 or parts[1] != b"commit":
            raise _cut(path)  # it is missing, or no commit
        size = int(parts[2])
        kept = size <= MAX_RECORD
        raw = stream.read(size) if kept else None
        left = 1 if kept else size + 1  # a line end follows
        while left:
            skipped = len(stream.read(min(left, CHUNK)))
            if not skipped:
                raise _cut(path)
            left -= skipped
        yield raw


def _decoded(data: bytes, charset: bytes) -> str:
    """Decode by what a commit says of itself; where that is wrong, it may still be UTF-8."""
    try:
        return decode_known(data, charset.decode("ascii", "replace"))
    except UnicodeError:
        return data.decode()


def _cut(path: Path) -> LeakscopeError:
    return LeakscopeError(f"{path} cannot be read to its first commit: run git fsck on it.")
