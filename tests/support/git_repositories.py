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

PROGRAMS = (
    "core.fsmonitor",
    "core.pager",
    "pager.log",
    "pager.rev-list",
    "core.sshCommand",
    "core.gitProxy",
    "core.askPass",
    "core.editor",
    "core.alternateRefsCommand",
    "gpg.program",
    "gpg.ssh.program",
    "credential.helper",
    "diff.external",
    "diff.evil.textconv",
    "diff.evil.command",
    "filter.evil.smudge",
    "filter.evil.clean",
    "filter.evil.process",
    "merge.evil.driver",
    "interactive.diffFilter",
    "uploadpack.packObjectsHook",
    "alias.log",
    "alias.rev-list",
    "alias.cat-file",
    "alias.rev-parse",
)
"""Settings that name a program."""


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


def evil_repository(path: Path, marker: Path) -> Path:
    """A repository whose settings name an evil program wherever they may name one."""
    made(path, b"one", b"two")
    script = program(path, marker)
    for name in PROGRAMS:
        git(path, "config", name, f"!{script}" if name.startswith("alias.") else str(script))
    git(path, "config", "log.showSignature", "true")
    git(path, "config", "core.hooksPath", str(path / "hooks"))
    included = path / "included"
    included.write_text(f'[core]\n\tpager = {script}\n[remote "o"]\n\tuploadpack = {script}\n')
    git(path, "config", "include.path", str(included))
    for folder in (path / "hooks", path / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in ("post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"):
            (folder / hook).write_text(script.read_text())
            (folder / hook).chmod(0o755)
    (path / ".gitattributes").write_text("* diff=evil filter=evil merge=evil\n")
    return path


def promisor(path, script):
    """Make what is missing to be fetched by a program."""
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(path),
        "remote.origin.uploadpack": str(script),
        "protocol.allow": "always",
    }.items():
        git(path, "config", name, value)
