"""Every command with every option that takes a path, given URLs of a real server: what it prints
and writes is what it does with local paths.
"""

import contextlib
import io
import json
import re
import shlex
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

import commands_over_urls as table
import served
from leakscope.cli.app import COMMANDS, main
from leakscope.commands.options import OR_PATHS, mentions_path
from leakscope.records.artifacts import digest_of_file
from remote_artifacts import files_of, put
from s3_server import KEY, SECRET
from saved_causal import saved
from trials.material import stillness

LINES, FORECASTS = table.lines(table.LINES), table.lines(table.FORECASTS)
SEALS = ("seal.txt", ".seal", ".sig", "answers")
"""Digests of files that name paths, signatures of these, and answers: they are checked by
`verify`, and by the numbers that are made of them.
"""
SECRET_NOISE = ("private", "published")
"""Directories whose content is another one each time."""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Both(NamedTuple):
    local: Ran
    remote: Ran


def typed(line: str, at: object, url: str) -> Ran:
    """A command as it is typed, in this process; the folder is then told as `{at}`."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    code = 0
    try:
        sys.argv = ["leakscope", *shlex.split(line.format(at=at, url=url))]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = before
    return Ran(code, *(each.getvalue().replace(str(at), "{at}") for each in (out, err)))


def command_of(line: str) -> str:
    """Its name, of one word or two."""
    return next(name for name in COMMANDS if f"{line} ".startswith(f"{name} "))


pytestmark = pytest.mark.xdist_group("urls")  # all commands are run once, not by each process


@pytest.fixture(scope="module")
def places(server, tmp_path_factory):
    """(a local folder, the objects at a URL, the URL), both with what the commands are given."""
    local = tmp_path_factory.mktemp("here")
    table.prepared(local)
    objects = server.files / "every-command"
    put(files_of(local), objects)
    return local, objects, f"s3://bucket/{objects.name}"


@pytest.fixture(scope="module")
def model_at(tmp_path_factory):
    """The address of a model that is served."""
    network, tokenizer = saved(tmp_path_factory.mktemp("net") / "net", kind="gpt2", tokens="bytes")
    with served.serving(served.Served(network, tokenizer)) as url:
        yield url


@pytest.fixture(scope="module")
def run(places, model_at, server, tmp_path_factory):
    """Run a line in both places."""
    local, _, url = places
    with pytest.MonkeyPatch.context() as patch, stillness():
        told = server.environment(tmp_path_factory.mktemp("cache") / "cache")
        for name, value in (told | {"SERVED_KEY": served.KEY, "COLUMNS": "400"}).items():
            patch.setenv(name, value)
        yield lambda line: Both(typed(line, local, model_at), typed(line, url, model_at))


@pytest.fixture(scope="module")
def ran(run):
    """What became of each line, from top to bottom."""
    return {line: run(line) for line in LINES}


def test_every_command_and_every_path_is_in_the_table():
    """Whoever adds a command, or an option that takes a path, adds a line."""
    given = defaultdict(set)
    for line in (*LINES, table.SLOW):
        words = (word for word in line.split() if word.startswith("--"))
        given[command_of(line)] |= {word[2:].replace("-", "_") for word in words}
    assert set(given) == set(COMMANDS)
    for name in COMMANDS:
        command = import_module(f"leakscope.cli.{name.replace(' ', '_')}").command
        by_place = {one.name for one in command._arguments}
        paths = {
            option
            for option, one in command.types().items()
            if mentions_path(one.type) or option in OR_PATHS
        }
        assert paths - by_place - given[name] <= {"config"}, name  # it must be local
        if "dry_run" in command.types():
            assert any(command_of(line) == name for line in FORECASTS), name


@pytest.mark.parametrize("line", LINES)
def test_it_says_the_same(line, ran):
    local, remote = ran[line]
    assert local.code == remote.code == 0, (local.err[-2000:], remote.err[-2000:])
    if not any(f"{{at}}/{name}" in line for name in SECRET_NOISE):
        assert remote.out == local.out
    assert SECRET not in remote.err and KEY not in remote.err


def plain(folder: Path, at: object) -> dict[str, bytes]:
    """Files without the seals of what names paths; in text, the folder as `{at}`, and the digests
    of such seals and manifests, which reports on runs tell, by names.
    """
    known = {
        digest_of_file(path).encode(): path.relative_to(folder).as_posix().encode()
        for path in folder.rglob("*")
        if path.name in ("manifest.json", "seal.txt")
    }

    def told(data: bytes) -> bytes:
        found = data.replace(str(at).encode(), b"{at}")
        return re.sub(rb"[0-9a-f]{32}", lambda digest: known.get(digest[0], digest[0]), found)

    return {name: told(data) for name, data in files_of(folder).items() if _is_comparable(name)}


def test_it_writes_the_same(ran, places):
    local, objects, url = places
    ours, theirs = plain(objects, url), plain(local, local)
    assert sorted(files_of(objects)) == sorted(files_of(local))
    assert [name for name in theirs if parsed(ours[name]) != parsed(theirs[name])] == []
    assert len(theirs) > 300


def _is_comparable(name: str) -> bool:
    return not name.startswith(SECRET_NOISE) and not any(each in name for each in SEALS)


def parsed(data: bytes) -> object:
    """A file; JSON without the seconds that work took."""
    try:
        return json.loads(data, object_hook=lambda each: {**each, "seconds": None})
    except ValueError:
        return data


@pytest.mark.parametrize("line", FORECASTS)
def test_it_forecasts(line, run, ran, places):
    _, objects, _ = places
    before = files_of(objects)
    local, remote = run(line)
    assert local.code == remote.code == 0, (local.err[-2000:], remote.err[-2000:])
    assert [each[:12] for each in remote.out.splitlines()] == [
        each[:12] for each in local.out.splitlines()
    ]
    assert files_of(objects) == before


@pytest.mark.slow
def test_a_demo_says_and_writes_the_same(run, places):
    local, objects, url = places
    here, there = run(table.SLOW)
    assert here.code == there.code == 0 and there.out == here.out
    assert plain(objects / "demo", url) == plain(local / "demo", local)
