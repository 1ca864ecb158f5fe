"""Commit messages of a git repository, by author."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import INVALID_UTF8, Row
from leakscope.records.errors import LeakscopeError

CHUNK = 1 << 16
TRAILER = re.compile(
    r"[A-Z][A-Za-z]*(-[A-Za-z]+)+:\s|(Cc|CC|Fixes|Closes|Link|Bug|BUG|git-svn-id):\s"
    r"|\(cherry picked from commit [0-9a-f]+\)"
)


def read_git(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield the commits that HEAD reaches, newest first: author's e-mail (or name) and message."""
    git = ["git", "-c", "i18n.logOutputEncoding=UTF-8", f"--git-dir={git_folder(path)}"]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "--quiet", "--verify", "HEAD^{commit}"],
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise LeakscopeError("git is not installed: install it to read a repository.") from error
    if head.returncode != 0:
        raise LeakscopeError(f"{path} has no commits that git can read: check out a branch.")
    log = [*git, "log", "-z", "--no-show-signature", "--no-color", "--format=%ae%x00%an%x00%B"]
    # Leaving the block early closes the pipe, and git stops.
    with subprocess.Popen(log, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        if process.stdout is not None:
            fields = _fields(process.stdout)
            yield from map(_row, fields, fields, fields)
    if process.returncode != 0:
        raise LeakscopeError(f"{path} cannot be read to its first commit: run git fsck on it.")


def git_folder(path: Path) -> Path:
    """Return the git folder of a work tree or bare repository, but not of one that contains it.

    Named outright, it also wins over a GIT_DIR that a hook has set.
    """
    if (path / ".git").exists():
        return path / ".git"
    if (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir():
        return path
    raise LeakscopeError(f"{path} is not a git repository: name its top folder.")


def strip_trailers(message: str) -> str:
    """Drop the lines such as Signed-off-by: that end a commit message; the subject stays."""
    lines = message.rstrip().split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or TRAILER.match(lines[-1])):
        lines.pop()
    return "\n".join(lines)


def _fields(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield what stands before each NUL."""
    parts: list[bytes] = []
    while chunk := stream.read(CHUNK):
        first, *more = chunk.split(b"\0")
        parts.append(first)
        for field in more:
            yield b"".join(parts)
            parts = [field]


def _row(email: bytes, name: bytes, message: bytes) -> Row:
    try:
        return Row((email or name).decode() or None, strip_trailers(message.decode()))
    except UnicodeDecodeError:
        return Row(None, None, INVALID_UTF8)
