"""Run git on somebody else's objects, but on nothing else of theirs.

A repository's configuration can name programs that git runs: pagers, file system monitors, remote
helpers, signature checkers. Git has no switch to leave it out. So git is given a bare repository
of our own, in a private temporary folder, with our configuration and their objects.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from leakscope.corpus.readers.received_repository import (
    ReceivedRepository,
    received_repository,
)
from leakscope.records.errors import LeakscopeError

CONFIGURATION = """[core]
\trepositoryFormatVersion = {version}
\tbare = true
\thooksPath = /dev/null
\tattributesFile = /dev/null
\tfsmonitor = false
\tcommitGraph = false
\tmultiPackIndex = false
[protocol]
\tallow = never
[extensions]
"""
LARGEST_OBJECT = "256m"
"""Git gives up on an object that unpacks to more."""


@dataclass(frozen=True)
class IsolatedGit:
    """The git program, shut in: HEAD is theirs, and so are the objects."""

    command: tuple[str, ...]
    environment: dict[str, str]

    def succeeds(self, *arguments: str) -> bool:
        """Tell whether a git command succeeds; what it says is dropped."""
        with self.start(*arguments) as process:
            process.communicate()
        return process.returncode == 0

    def start(self, *arguments: str, stdin: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
        """Start a git command and return it; its output is a pipe."""
        return subprocess.Popen(
            [*self.command, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )


@contextmanager
def isolated_git(path: Path) -> Iterator[IsolatedGit]:
    """Lend git on a repository's objects, if the repository belongs to whoever runs this."""
    if shutil.which("git") is None:
        raise LeakscopeError("git is not installed: install it to read a repository.")
    repository = received_repository(path)
    with tempfile.TemporaryDirectory(prefix="leakscope-git-") as name:
        folder = Path(name)
        wide = len(repository.head) == 64
        settings = CONFIGURATION.format(version=int(wide))
        (folder / "config").write_text(settings + "\tobjectFormat = sha256\n" * wide)
        (folder / "HEAD").write_text(repository.head + "\n")
        for part in ("objects", "refs"):
            (folder / part).mkdir()
        if repository.shallow:
            (folder / "shallow").write_text("\n".join(repository.shallow) + "\n")
        _check_owner(repository, folder)
        command = ("git", "--no-pager", f"--git-dir={folder}")
        yield IsolatedGit(command, _environment(folder, repository.objects))


def _environment(folder: Path, objects: Path) -> dict[str, str]:
    """Return what git is told: no settings of user or system, no network, no questions."""
    return _without_git() | {
        "GIT_ALLOC_LIMIT": LARGEST_OBJECT,
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_ASKPASS": "",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OBJECT_DIRECTORY": str(objects),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }


def _without_git() -> dict[str, str]:
    """Return our environment without what a hook may have set for git."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def _check_owner(repository: ReceivedRepository, folder: Path) -> None:
    """Raise unless the repository is the user's own, or safe.directory names it (git's rule)."""
    mine = {os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        mine.add(int(os.environ["SUDO_UID"]))
    if all(place.lstat().st_uid in mine for place in repository.places):
        return
    top = repository.places[0]
    if not _is_safe(top, folder):
        raise LeakscopeError(
            f"{top} belongs to somebody else: copy it, or if you trust its owner run git config "
            f"--global --add safe.directory followed by its path."
        )


def _is_safe(top: Path, folder: Path) -> bool:
    """Tell whether the user's or the system's git settings name the folder as safe."""
    asked = ["git", f"--git-dir={folder}", "config", "--null", "--get-all", "safe.directory"]
    said = subprocess.run(asked, capture_output=True, check=False).stdout
    safe = False
    for value in map(os.fsdecode, said.split(b"\0")[:-1]):
        if not value:
            safe = False  # an empty value takes back all before it
        elif value == "*" or Path(value).expanduser() == top:
            safe = True
        elif value.endswith("/*"):
            safe = safe or top.is_relative_to(Path(value[:-2]).expanduser())
    return safe
