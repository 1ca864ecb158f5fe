"""Forecasts of builds and of cleaning: samples, what is kept, and that nothing is left behind."""

import csv
import gzip
import io
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import leakscope
from leakscope.auditing.forecasting.input_sample import sample_of
from leakscope.corpus.readers.detect import read
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.records.errors import LeakscopeError

HOW = InputSettings()
SMALL_PIECES = {"threads": 64, "memory": "1GB"}  # of half a megabyte


def rows_of(path, format):
    return [(row.user, row.text) for row in read(path, InputSettings(format=format))]


def as_jsonl(rows):
    return "".join(json.dumps({"user": user, "text": text}) + "\n" for user, text in rows)


def as_csv(rows):
    out = io.StringIO()
    csv.writer(out).writerows([("user", "text"), *rows])
    return out.getvalue()


words = st.text(st.sampled_from('abc ",\n'), min_size=1, max_size=20).map(lambda said: f"x{said}")
some_rows = st.lists(st.tuples(st.sampled_from(["ann", "bob"]), words), min_size=1, max_size=30)


@given(some_rows, st.integers(1, 400), st.sampled_from(["jsonl", "csv"]))
def test_a_sample_has_the_first_records(rows, size, format):
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name) / f"data.{format}"
        whole.write_text({"jsonl": as_jsonl, "csv": as_csv}[format](rows), newline="")
        found = sample_of(whole, format, HOW, size, Path(name) / "sample")
        if found.share == 1:
            assert found.path == whole or rows_of(found.path, format) == rows_of(whole, format)
            return
        taken = rows_of(found.path, format)
        assert taken == rows_of(whole, format)[: len(taken)]
        assert found.share == found.path.stat().st_size / whole.stat().st_size
        assert found.path.stat().st_mode & 0o77 == 0


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".zst", zstandard.ZstdCompressor().compress)]
)
def test_a_compressed_sample_is_compressed(tmp_path, suffix, pack):
    rows = [("ann", f"line number {number}") for number in range(5000)]
    whole = tmp_path / f"data.jsonl{suffix}"
    whole.write_bytes(pack(as_jsonl(rows).encode()))
    found = sample_of(whole, "jsonl", HOW, 60_000, tmp_path / "sample")
    taken = rows_of(found.path, "jsonl")
    assert taken == rows[: len(taken)] and found.share == pytest.approx(len(taken) / 5000, rel=0.3)


def test_samples_of_parquet_and_of_letters(tmp_path):
    table = pa.table({"user": ["ann"] * 5000, "text": ["hello world"] * 5000})
    pq.write_table(table, tmp_path / "data.parquet", row_group_size=500)
    found = sample_of(tmp_path / "data.parquet", "parquet", HOW, 1, tmp_path / "a")
    assert found.share == 0.2 and pq.ParquetFile(found.path).num_row_groups == 2

    letter = "From a@b Mon Jan  1 00:00:00 2001\nFrom: Ann <ann@b.org>\n\nhello {}\n\n"
    (tmp_path / "data.mbox").write_text("".join(letter.format(number) for number in range(50)))
    found = sample_of(tmp_path / "data.mbox", "mbox", HOW, 1000, tmp_path / "b")
    taken = rows_of(found.path, "mbox")
    assert 0 < len(taken) < 50 and taken == rows_of(tmp_path / "data.mbox", "mbox")[: len(taken)]

    (tmp_path / "mail").mkdir()
    assert sample_of(tmp_path / "mail", "maildir", HOW, 1, tmp_path / "c") is None


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """About four megabytes."""
    folder = tmp_path_factory.mktemp("build-forecast")
    leakscope.corpus.synth(folder / "synth", users=400, words=650_000)
    rows = pq.read_table(folder / "synth" / "data.parquet").to_pylist()
    path = folder / "data.jsonl"
    path.write_text(as_jsonl((row["user"], row["text"]) for row in rows))
    return path


def content(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_of_a_build(data, monkeypatch):
    monkeypatch.setattr("leakscope.auditing.forecasting.build_forecast.ENOUGH", 0.0)
    before = content(data.parent)
    found = leakscope.forecast.corpus_build(data, out=data.parent / "corpus")
    names = ["set up", "read", "number words", "write shards"]
    assert [stage.name for stage in found.stages] == names
    assert found.whole and found.seconds > 0 and found.disk > 1e6
    assert content(data.parent) == before


def test_a_folder_is_not_cut(tmp_path):
    (tmp_path / "cur").mkdir()
    (tmp_path / "new").mkdir()
    found = leakscope.forecast.corpus_build(tmp_path, format="maildir")
    assert not found.whole and "folder" in found.stages[0].reason


class KilledError(Exception):
    pass


@pytest.mark.parametrize("killed", ["read", "number words", "write shards"])
def test_what_a_killed_build_has_made_is_not_forecast_again(data, tmp_path, killed):
    def progress(stage, done, total=None, note=""):
        if stage == killed and done >= 2:
            raise KilledError

    out, options = tmp_path / "corpus", {"shard_words": 50_000, **SMALL_PIECES}
    with pytest.raises(KilledError):
        leakscope.corpus.build(data, out, progress=progress, **options)
    begins = killed.replace(" ", "-")
    made = [*out.glob(f".building/{begins}-*.arrow"), *out.glob(f".building/{begins}-*.parquet")]
    for part in made[2:]:  # the threads that were on their way have finished them
        part.unlink()
    before = content(out)
    found = leakscope.forecast.corpus_build(data, out=out, **options)
    assert content(out) == before
    stages = {stage.name: stage for stage in found.stages}
    for name in ["read", "number words", "write shards"]:
        if name == killed:
            assert "; 2 of " in stages[name].work and stages[name].seconds > 0
            break
        assert stages[name].seconds == 0
    other = leakscope.forecast.corpus_build(data, out=out, max_characters=5000, **options)
    assert not any("kept" in stage.work for stage in other.stages)


def test_of_cleaning(data, monkeypatch):
    monkeypatch.setattr("leakscope.auditing.forecasting.clean_forecast.ENOUGH", 0.0)
    corpus = data.parent / "to-clean"
    leakscope.corpus.build(data, corpus)
    before = content(data.parent)
    found = leakscope.forecast.corpus_clean(corpus, documents="exact", scrub=("email",))
    assert "clean" in [stage.name for stage in found.stages] and found.disk > 1e6
    assert content(data.parent) == before


def build(source, out, forecast):
    made = leakscope.forecast.corpus_build if forecast else leakscope.corpus.build
    return made(source.with_suffix(".jsonl"), out=out)


def clean(source, out, forecast):
    made = leakscope.forecast.corpus_clean if forecast else leakscope.corpus.clean
    return made(source, out=out, min_users=2)


@pytest.mark.parametrize("command", [build, clean])
def test_an_output_that_the_command_refuses_is_refused(tmp_path, command):
    """And nothing is written: a foreign folder, a file, a finished corpus, another's half."""
    source = tmp_path / "data"
    source.with_suffix(".jsonl").write_text(as_jsonl([("ann", "hello world"), ("bob", "hello")]))
    leakscope.corpus.build(source.with_suffix(".jsonl"), source)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "mine.txt").write_text("mine")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / ".leakscope").write_text('{"unfinished": "train"}')
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / ".leakscope").write_text("of somebody else")
    before = content(tmp_path)
    for name in ("foreign", "data", "data.jsonl", "half", "odd"):
        with pytest.raises(LeakscopeError) as refused:
            command(source, tmp_path / name, forecast=False)
        with pytest.raises(LeakscopeError) as forecast:
            command(source, tmp_path / name, forecast=True)
        assert str(forecast.value) == str(refused.value)
    assert content(tmp_path) == before
    command(source, tmp_path / "new", forecast=True)
    assert content(tmp_path) == before
