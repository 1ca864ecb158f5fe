"""A build that was stopped goes on: from intact parts, to the same bytes."""

import json
import os
import random
import signal
import stat

import pytest

from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building import builder
from leakscope.corpus.building.builder import BUILDING, build
from leakscope.corpus.store import Corpus
from leakscope.engine.thread_engine import ThreadEngine
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import MARKER
from told_damage import ToldDamage, named_of

HOW = BuildSettings(validation=0.2, shard_words=900)


class Small(BuildResources):
    run_bytes = 9000
    piece_bytes = 16000


@pytest.fixture
def sources(tmp_path):
    """One that is read in pieces and one that is not."""
    rows = [{"user": f"u{n % 17}", "text": f"number {n} of {n % 17} " * 4} for n in range(400)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cells = "".join(f"{row['user']},{row['text']}\n" for row in rows)
    (tmp_path / "b.csv").write_text("user,text\n" + cells)
    return [tmp_path / "a.jsonl", tmp_path / "b.csv"]


def content(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def made(sources, out, settings=HOW, **given):
    return build(sources, out, settings=settings, resources=Small(threads=1), **given)


def in_child(work):
    """Run `work` in a forked process; how that ended."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def killed_at(call, sources, out):
    """Start a build that is killed when a file takes its place for the `call`-th time."""

    def work():
        left, rename = [call], os.replace

        def doomed(*given, **options):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return rename(*given, **options)

        os.replace = doomed
        made(sources, out)
        os._exit(0)

    return in_child(work)


def parts_of(out):
    """The finished parts, each with what tells whether it was made anew."""
    found = (out / BUILDING).glob("[!.]*")
    return {p.name: p.stat().st_ino for p in found if p.suffix != ".seal"}


def test_killed_at_every_kind_of_moment_it_ends_with_the_same_bytes(tmp_path, sources):
    quiet = content(made(sources, tmp_path / "quiet").path)
    for call in [*range(0, 60, 6), 10**6]:
        out = tmp_path / f"c{call}"
        if os.WIFSIGNALED(killed_at(call, sources, out)):
            # A part is a file and a seal, and of what was begun one is lost.
            assert len(parts_of(out)) >= call // 2 - 1 or (out / "shards").exists()
            made(sources, out)
        assert content(out) == quiet, call


def test_parts_are_made_once(tmp_path, sources, monkeypatch):
    """All that a killed build has finished is used."""
    out = tmp_path / "c"
    killed_at(30, sources, out)
    kept = parts_of(out)
    assert kept
    seen = {}
    ended = builder.shutil.rmtree

    def look(folder):
        seen.update(parts_of(out))
        ended(folder)

    monkeypatch.setattr(builder.shutil, "rmtree", look)
    made(sources, out)
    assert {name: seen.get(name) for name in kept if not name.endswith(".parquet")} == {
        name: place for name, place in kept.items() if not name.endswith(".parquet")
    }


def test_a_flipped_bit_in_a_part_is_found_and_the_part_made_again(tmp_path, sources):
    quiet = content(made(sources, tmp_path / "quiet").path)
    draw = random.Random(7)
    for turn in range(6):
        out = tmp_path / f"c{turn}"
        killed_at(8 + 9 * turn, sources, out)
        files = sorted(p for p in (out / BUILDING).iterdir() if p.is_file())
        damaged = draw.choice(files)
        data = bytearray(damaged.read_bytes())
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        damaged.write_bytes(data)
        told = ToldDamage()
        made(sources, out, progress=told)
        assert content(out) == quiet, damaged.name
        assert told.names == named_of(damaged, files)


def test_other_settings_use_no_part_that_they_change(tmp_path, sources):
    out = tmp_path / "c"
    killed_at(30, sources, out)
    other = BuildSettings(validation=0.2, shard_words=900, lowercase=True, seed=4)
    made(sources, out, other)
    assert content(out) == content(made(sources, tmp_path / "quiet", other).path)


def test_a_changed_input_is_read_again(tmp_path, sources):
    out = tmp_path / "c"
    killed_at(30, sources, out)
    for path in sources:
        path.write_text(path.read_text().replace("number 7 ", "number eight "))
    made(sources, out)
    assert content(out) == content(made(sources, tmp_path / "quiet").path)


def test_ctrl_c_keeps_what_is_finished_and_an_error_keeps_nothing(tmp_path, sources):
    def stop(stage, done, total=None, note=""):
        if stage == "number words" and done == total:
            raise KeyboardInterrupt

    out = tmp_path / "c"
    with pytest.raises(KeyboardInterrupt):
        made(sources, out, progress=stop)
    assert parts_of(out) and (out / MARKER).exists()
    modes = {stat.S_IMODE(p.stat().st_mode) for p in (out / BUILDING).iterdir()}
    assert modes == {0o600} and stat.S_IMODE((out / BUILDING).stat().st_mode) == 0o700
    made(sources, out)
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"user": "ann", "text": ""}\n')
    with pytest.raises(LeakscopeError, match="1 with empty text"):
        made([empty], tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_killed_after_its_manifest_a_build_is_finished(tmp_path, sources, monkeypatch):
    out = tmp_path / "c"

    def stop(folder):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(builder.shutil, "rmtree", stop)
        made(sources, out)
    with pytest.raises(LeakscopeError, match="already exists"):
        made(sources, out, BuildSettings(seed=9))
    assert made(sources, out).manifest == Corpus.open(out).manifest
    assert not (out / BUILDING).exists() and not (out / MARKER).exists()


def test_a_part_that_fails_stops_the_others(tmp_path, sources, monkeypatch):
    """On threads as well, with the error itself."""

    class Failing:
        name = "failing"

        def start(self):
            def work(index, target):
                raise LeakscopeError(f"part {index} cannot be made.")

            return work

    with pytest.raises(LeakscopeError, match="cannot be made"):
        ThreadEngine(2).map(Failing(), ["a", "b", "c"], tmp_path)
