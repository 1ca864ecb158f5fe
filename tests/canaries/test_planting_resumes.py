"""A planting that was stopped goes on: from intact parts, to the same bytes."""

import json
import random
import stat

import pytest

import leakscope
from killed_replacements import killed_at, replacements
from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building import builder
from leakscope.corpus.building.builder import BUILDING
from leakscope.corpus.building.number_stage import NumberStage
from leakscope.corpus.parts import read_stage
from leakscope.corpus.store import Corpus
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import MARKER
from planted import data_rows, write_jsonl
from stopped_calls import contents, flip

SMALL = {"vocabulary": 40, "schedule": "1,3", "controls": 5}
HOW = BuildSettings(validation=0.2, shard_words=300)


class Small(BuildResources):
    run_bytes = 4000
    piece_bytes = 3000


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(builder, "BuildResources", lambda: Small(threads=1))


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "data.jsonl", data_rows(documents=20))


def planted(source, out, **changes):
    told = () if (source / "manifest.json").exists() else (HOW,)
    leakscope.canary.plant(source, out, *told, **(SMALL | changes))
    return contents(out)


def killed(call, source, out):
    return killed_at(call, lambda: planted(source, out))


def parts_of(out):
    """The finished parts of both corpora, each with what tells whether it was made anew."""
    found = [*out.glob(f"**/{BUILDING}/*.arrow"), *out.glob("**/shards/*.parquet")]
    return {str(path.relative_to(out)): path.stat().st_ino for path in found}


def made_parts(monkeypatch):
    """The names of all parts that are read or numbered from now on."""
    made, sink, work = [], read_stage.part_sink, NumberStage._number

    def reading(path, schema):
        made.append(path.name)
        return sink(path, schema)

    def numbering(self, index, target):
        made.append(target.name)
        return work(self, index, target)

    monkeypatch.setattr(read_stage, "part_sink", reading)
    monkeypatch.setattr(NumberStage, "_number", numbering)
    return made


@pytest.mark.parametrize("kind", ["data", "corpus"])
def test_killed_at_every_kind_of_moment_it_ends_with_the_same_bytes(tmp_path, source, kind):
    if kind == "corpus":
        leakscope.corpus.build(source, tmp_path / "source", HOW)
        source = tmp_path / "source"
    total = replacements(lambda: planted(source, tmp_path / "quiet"))
    quiet = contents(tmp_path / "quiet")
    kills = 0
    for call in sorted({*range(0, total, max(total // 14, 1)), total - 2, total - 1}):
        out = tmp_path / f"killed-{call}"
        if killed(call, source, out):
            kills += 1
            planted(source, out)
        assert contents(out) == quiet, call
        assert not (out / MARKER).exists()
    assert kills > 12


def test_what_is_finished_is_not_made_again(tmp_path, source, monkeypatch):
    made = made_parts(monkeypatch)
    quiet = planted(source, tmp_path / "quiet")
    total = replacements(lambda: planted(source, tmp_path / "counted"))
    whole = len(made) // 2
    for call in (total // 4, total // 2, 3 * total // 4):
        out = tmp_path / f"killed-{call}"
        killed(call, source, out)
        there = len({name for name in parts_of(out) if BUILDING in name})
        before = (out / ".before" / "corpus" / "manifest.json").exists()
        del made[:]
        assert planted(source, out) == quiet
        # A finished corpus has no parts any more; of what was begun one part is lost.
        assert len(made) <= whole - there - (4 if before else 0) + 1
        assert len(made) < whole


@pytest.mark.parametrize("share", [0.3, 0.75])
def test_a_flipped_bit_in_a_part_has_only_that_part_made_again(
    tmp_path, source, monkeypatch, share
):
    total = replacements(lambda: planted(source, tmp_path / "quiet"))
    quiet = contents(tmp_path / "quiet")
    for turn in range(3):
        out = tmp_path / f"killed-{turn}"
        killed(int(total * share), source, out)
        parts = sorted(out.glob(f"**/{BUILDING}/rows-*.arrow"))
        damaged = random.Random(turn).choice(parts)
        flip(damaged, 300 + 7 * turn)
        with monkeypatch.context() as patch:
            made = made_parts(patch)
            assert planted(source, out) == quiet
        assert damaged.name in made
        assert not {part.name for part in parts if part != damaged} & set(made)


def test_a_flipped_bit_in_a_finished_corpus_has_it_made_again(tmp_path, source, monkeypatch):
    def stop(*_given):
        raise KeyboardInterrupt

    quiet = planted(source, tmp_path / "quiet")
    for turn, pattern in enumerate(("**/*.parquet", "corpus/manifest.json", "**/seal.txt")):
        out = tmp_path / f"killed-{turn}"
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr("leakscope.canaries.planting.planter._real", stop)
            planted(source, out)
        assert (out / "corpus" / "manifest.json").exists()
        for path in out.glob(pattern):
            flip(path)
        assert planted(source, out) == quiet, pattern


@pytest.mark.parametrize(
    "changes", [{"seed": 3}, {"schedule": "2"}, {"coins": "user", "canaries": 8}, {"rows": True}]
)
def test_with_another_setting_or_source_nothing_is_stale(tmp_path, source, changes):
    total = replacements(lambda: planted(source, tmp_path / "counted"))
    fresh = None
    for share in (0.3, 0.6, 0.9, 1):
        out = tmp_path / f"killed-{share}"
        killed(min(int(total * share), total - 1), source, out)
        (tmp_path / "was").write_bytes(source.read_bytes())
        if "rows" in changes:
            source.write_text(source.read_text().replace("wab", "wzz"))
        told = {name: value for name, value in changes.items() if name != "rows"}
        fresh = fresh or planted(source, tmp_path / "fresh", **told)
        if (out / "canaries.json").exists():
            with pytest.raises(LeakscopeError, match="already exists"):
                planted(source, out, **told)
        else:
            assert planted(source, out, **told) == fresh, share
        source.write_bytes((tmp_path / "was").read_bytes())


def test_origins_that_differ_tell_two_sources_apart(tmp_path, source):
    """The digest of a corpus does not have them; the digest of its files does."""
    rows = [json.loads(line) for line in source.read_text().splitlines()]
    turned = write_jsonl(
        tmp_path / "turned.jsonl",
        [(row["user"], row["text"]) for row in sorted(rows, key=lambda row: row["user"])],
    )
    for path in (source, turned):
        leakscope.corpus.build(path, tmp_path / path.stem, HOW)
    one, other = (tmp_path / path.stem for path in (source, turned))
    fresh = planted(other, tmp_path / "fresh")
    assert Corpus.open(one).manifest.digest == Corpus.open(other).manifest.digest
    killed(12, one, tmp_path / "out")
    assert planted(other, tmp_path / "out") == fresh


def test_ctrl_c_keeps_what_is_finished_and_an_error_keeps_nothing(tmp_path, source):
    def stop(stage, done, total=None, note=""):
        if stage == "number words" and done == total:
            raise KeyboardInterrupt

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        planted(source, out, progress=stop)
    assert parts_of(out) and (out / MARKER).exists()
    inside = [path for path in out.rglob("*") if path.name != MARKER]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in inside if path.is_file()}
    assert modes == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in inside if path.is_dir()} == {0o700}
    assert planted(source, out) == planted(source, tmp_path / "quiet")
    with pytest.raises(LeakscopeError, match="plant in fewer"):
        planted(source, tmp_path / "d", users=99)
    assert not (tmp_path / "d").exists()
