"""What a killed report has kept is used again if it is as it was written, and made anew if not."""

from dataclasses import replace
from pathlib import Path

import pytest

from leakscope.leakage.pipeline import Resources, audit
from leakscope.leakage.scrutiny.public_surprise import PublicModel
from leakscope.records.models.public_model import GivenModelRecord
from leakscope.records.runs.report_settings import ReportSettings
from small_models import repeated_by, sharp_model
from subjects import subject_of

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
)
ASKED = ReportSettings(top_k=2, reveal=True, elsewhere=60)


class KilledError(Exception):
    pass


@pytest.fixture
def corpus(make_corpus):
    rows = repeated_by(sharp_model("gru", WORDS, 3), 8, 40, 12)
    return make_corpus(rows, shard_words=250, validation=0.2)


def report(corpus, out, killed=False):
    """A report; or one that is killed when all stages have run, before anything is written."""
    model, other = (sharp_model("gru", WORDS, seed).reading(corpus.lexicon) for seed in (3, 4))
    judge = PublicModel(GivenModelRecord(name="other", digests=("d",)), lambda: other)

    def confirm():
        if killed:
            raise KilledError

    subject = replace(subject_of(lambda: model), confirm=confirm)
    audit(subject, corpus, out, ASKED, public=lambda _: judge, resources=Resources())
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
    with pytest.raises(KilledError):
        report(corpus, out, killed=True)
    after = {path: path.stat().st_mtime_ns for each in STAGES for path in kept(out, each)}
    assert {path for path in before if before[path] != after[path]} == {kept(out, stage)[0]}
    assert kept(out, stage)[0].read_bytes() == content
