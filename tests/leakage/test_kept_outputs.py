"""What a killed report has kept is used again if it is as it was written, and made anew if not."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from leakscope.engine.local_engine import LocalEngine
from leakscope.engine.progress import silent
from leakscope.leakage.pipeline import Resources, audit
from leakscope.leakage.run_tables import sequence_table, user_table
from leakscope.leakage.scrutiny.public_surprise import PublicModel
from leakscope.models import answer_identity
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.records.models.public_model import GivenModelRecord
from leakscope.records.runs.report_settings import ReportSettings
from small_models import repeated_by, sharp_model, sharp_reader
from subjects import subject_of
from told_damage import ToldDamage

WORDS = ["a", "b", "c", "d", "e", "f"]
TABLES = ("sequences.parquet", "occurrences.parquet", "users.parquet", "metrics.json")
STAGES = (
    "score",
    "collect",
    "count",
    "held-out",
    "public",
    "sample",
    "least-context",
    "other-contexts",
    "personal-data",
    "known-words",
    "write",
)
ASKED = ReportSettings(top_k=2, reveal=True, elsewhere=60)
REDACTED = ReportSettings(top_k=2)


class KilledError(Exception):
    pass


@pytest.fixture
def corpus(make_corpus):
    rows = repeated_by(sharp_model("gru", WORDS, 3), 8, 40, 12)
    return make_corpus(rows, shard_words=250, validation=0.2)


@pytest.fixture
def small_parts(monkeypatch):
    """Tables that are written in many parts."""
    monkeypatch.setattr(sequence_table, "ROWS", 7)
    monkeypatch.setattr(user_table, "ROWS", 3)


MINE, OTHERS = AnswerIdentity("m"), AnswerIdentity("d")


def report(
    corpus, out, killed=False, progress=silent, resources=None, asked=ASKED, of=(MINE, OTHERS)
):
    """A report; or one that is killed when all stages have run, just before it is finished. `of`:
    what decides the answers of the model, and of the public one.
    """
    model, other = (partial(sharp_reader, corpus.path, "gru", WORDS, seed) for seed in (3, 4))
    judge = PublicModel(GivenModelRecord(name="other", digests=("d",)), other, of[1])

    def page(_):
        if killed:
            raise KilledError

    audit(
        replace(subject_of(model), identity=of[0]),
        corpus,
        out,
        asked,
        public=lambda _: judge,
        resources=resources or Resources(),
        page=page,
        progress=progress,
    )
    return {name: (out / name).read_bytes() for name in TABLES}


def kept(out: Path, stage: str) -> list[Path]:
    return sorted((out / ".work").glob(f"{stage}-*.parquet"))


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << (place % 8)
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def unseal(path: Path) -> None:
    path.with_name(path.name + ".seal").unlink()


DAMAGES = {
    **{f"bit {place}": lambda path, at=place: flip(path, at) for place in (5, 101, 747, -3)},
    "bit of the seal": lambda path: flip(path.with_name(path.name + ".seal"), 90),
    "cut": cut,
    "empty": empty,
    "no seal": unseal,
}


def test_damaged_outputs_are_made_again(corpus, tmp_path):
    wanted = report(corpus, tmp_path / "whole")
    for name, damage in DAMAGES.items():
        out = tmp_path / name.replace(" ", "-")
        with pytest.raises(KilledError):
            report(corpus, out, killed=True)
        for stage in STAGES:
            damaged = kept(out, stage)
            assert damaged, stage
            damage(damaged[0])
        assert report(corpus, out) == wanted


@pytest.mark.parametrize("stage", STAGES)
def test_intact_outputs_are_kept_and_damaged_ones_are_not(corpus, tmp_path, stage):
    out = tmp_path / "run"
    with pytest.raises(KilledError):
        report(corpus, out, killed=True)
    before = {path: path.stat().st_mtime_ns for each in STAGES for path in kept(out, each)}
    content = kept(out, stage)[0].read_bytes()
    flip(kept(out, stage)[0], 200)
    told = ToldDamage()
    with pytest.raises(KilledError):
        report(corpus, out, killed=True, progress=told)
    assert told.names == [kept(out, stage)[0].name]
    after = {path: path.stat().st_mtime_ns for each in STAGES for path in kept(out, each)}
    assert {path for path in before if before[path] != after[path]} == {kept(out, stage)[0]}
    assert kept(out, stage)[0].read_bytes() == content


def whole_and_parts(corpus, tmp_path):
    wanted = report(corpus, tmp_path / "whole")
    with pytest.raises(KilledError):
        report(corpus, tmp_path / "parts", killed=True)
    return wanted, kept(tmp_path / "parts", "write")


def test_parts_are_the_tables(corpus, tmp_path, small_parts):
    wanted, parts = whole_and_parts(corpus, tmp_path)
    tables = [pq.read_table(part) for part in parts]
    for name in TABLES[:3]:
        whole = pq.read_table(tmp_path / "whole" / name, page_checksum_verification=True)
        mine = [table for table in tables if table.schema == whole.schema]
        assert len(mine) >= 2
        assert sum(map(len, mine)) == len(whole)
        groups = pq.ParquetFile(tmp_path / "whole" / name).num_row_groups
        assert groups == sum(len(table) > 0 for table in mine)
    assert wanted == report(corpus, tmp_path / "parts")


class KilledAt:
    """Progress that kills when so many parts of tables are written."""

    def __init__(self, parts):
        self.parts, self.total = parts, None

    def __call__(self, stage, done, total=None, note=""):
        if stage == "write":
            self.total = total
            if done == self.parts:
                raise KilledError


@pytest.mark.parametrize("threads", [1, 3])
def test_kills_between_parts(corpus, tmp_path, small_parts, threads):
    wanted = report(corpus, tmp_path / "whole")
    out, resources = tmp_path / "run", Resources(threads=threads)
    before: dict[Path, int] = {}
    while True:
        parts = kept(out, "write")
        assert all(path.stat().st_mtime_ns == before.get(path) for path in parts if path in before)
        before = {path: path.stat().st_mtime_ns for path in parts}
        killer = KilledAt(len(parts) + 3)
        try:
            found = report(corpus, out, progress=killer, resources=resources)
            break
        except KilledError:
            assert len(kept(out, "write")) >= len(parts) + 3
            assert not any((out / name).exists() for name in TABLES)
    assert len(before) > 3
    assert found == wanted


@pytest.mark.parametrize(
    "resources",
    [Resources(threads=4), Resources(LocalEngine(2), threads=2)],
    ids=["threads", "processes"],
)
def test_bytes_do_not_depend_on_who_works(corpus, tmp_path, small_parts, resources):
    wanted = report(corpus, tmp_path / "whole", asked=REDACTED)
    assert report(corpus, tmp_path / "other", resources=resources, asked=REDACTED) == wanted


CHANGES = {
    "contexts": {"contexts": 1},
    "context words": {"context_words": 2},
    "redacted": {"reveal": False},
    "threshold": {"user_threshold": 2},
    "no least contexts": {"least_context": 0},
    "no decoys": {"decoy_words": 0},
    "nothing elsewhere": {"elsewhere": 0},
}


@pytest.mark.parametrize("name", CHANGES)
def test_parts_of_other_settings_are_not_used(corpus, tmp_path, small_parts, name):
    changed = replace(ASKED, **CHANGES[name])
    wanted = report(corpus, tmp_path / "whole", asked=changed)
    with pytest.raises(KilledError):
        report(corpus, tmp_path / "run", killed=True)
    assert report(corpus, tmp_path / "run", asked=changed) == wanted


PUBLIC = ("public", "known-words")
OF_THE_MODEL = ("score", "held-out", "sample", "least-context", "other-contexts")


def made_again(corpus, out, of):
    """The stages of which a killed report, given again, makes all outputs anew, and those of which
    it makes none.
    """
    before = {path: path.stat().st_mtime_ns for each in STAGES for path in kept(out, each)}
    with pytest.raises(KilledError):
        report(corpus, out, killed=True, of=of)
    now = {each: kept(out, each) for each in STAGES}
    new = {each: [path for path in paths if path not in before] for each, paths in now.items()}
    assert all(path.stat().st_mtime_ns == made for path, made in before.items())
    every = {each for each in STAGES if 2 * len(new[each]) == len(now[each])}
    return every, {each for each in STAGES if not new[each]}


def other_version(monkeypatch, package):
    known = answer_identity.version
    said = lambda name: "0.0.1" if name == package else known(name)  # noqa: E731
    monkeypatch.setattr(answer_identity, "version", said)


@pytest.fixture
def begun(corpus, tmp_path):
    with pytest.raises(KilledError):
        report(corpus, tmp_path / "run", killed=True)
    return tmp_path / "run"


def test_what_the_same_model_has_answered_is_kept(corpus, begun):
    assert made_again(corpus, begun, (MINE, OTHERS)) == (set(), set(STAGES))


@pytest.mark.parametrize("package", ["torch", "numpy"])
def test_another_version_answers_anew(corpus, begun, monkeypatch, package):
    other_version(monkeypatch, package)
    every, _ = made_again(corpus, begun, (MINE, OTHERS))
    assert every >= {*OF_THE_MODEL, *PUBLIC}


CHANGED = {"files": "n", "device": "cuda", "dtype": "bfloat16", "chat_template": "user"}


@pytest.mark.parametrize("what", CHANGED)
def test_another_model_answers_anew(corpus, begun, what):
    changed = {what: CHANGED[what]}
    every, none = made_again(corpus, begun, (replace(MINE, **changed), OTHERS))
    assert every >= set(OF_THE_MODEL) and none >= set(PUBLIC)
    every, none = made_again(corpus, begun, (MINE, replace(OTHERS, **changed)))
    assert every == set(PUBLIC) and none == set(STAGES) - set(PUBLIC)
