"""Git repositories, made by the real git, and the commands that an evil one would have run."""

import os
import subprocess
from pathlib import Path

PERSON = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in {
        "NAME": "Ann",
        "EMAIL": "ann@x.org",
        "DATE": "2020-01-01T00:00:00Z",
    }.items()
} | {"GIT_CONFIG_GLOBAL": os.devnull}


def git(path, *arguments, data=b"", **environment):
    done = subprocess.run(
        ["git", *arguments],
        cwd=path,
        input=data,
        env={**os.environ, **PERSON, **environment},
        capture_output=True,
        check=True,
    )
    return done.stdout


def commit(path, data, *options, **environment):
    arguments = ("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-F", "-")
    git(path, *options, *arguments, data=data, **environment)


def made(path: Path, *messages: bytes, options=()) -> Path:
    """A repository with these commits, oldest first."""
    path.mkdir(parents=True)
    git(path, "init", "-q", *options)
    for message in messages:
        commit(path, message)
    return path


def program(folder: Path, marker: Path) -> Path:
    """A program that leaves a marker when it is run."""
    script = folder / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch '{marker}'\nexit 1\n")
    script.chmod(0o755)
    return script
