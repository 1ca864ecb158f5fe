"""The files that `corpus synth` leaves behind."""

from dataclasses import asdict

import pyarrow.parquet as pq
import pytest

from leakscope.corpus.synthetic import synth_files
from leakscope.corpus.synthetic.generate import documents, truth
from leakscope.corpus.synthetic.synth_files import synth
from leakscope.corpus.synthetic.synth_settings import SynthSettings
from leakscope.corpus.words import words
from leakscope.records.errors import LeakscopeError

SMALL = SynthSettings(users=12, words_per_user=200)


def test_files_hold_the_corpus_and_the_truth(tmp_path, monkeypatch):
    monkeypatch.setattr(synth_files, "ROW_GROUP", 100)
    seen = []
    summary = synth(tmp_path / "a" / "out", SMALL, seen.append)
    out = tmp_path / "a" / "out"
    data = pq.read_table(out / "data.parquet", page_checksum_verification=True)
    rows = list(documents(SMALL))
    assert data.to_pylist() == [{"user": row.user, "text": row.text} for row in rows]
    answers = pq.read_table(out / "truth.parquet", page_checksum_verification=True)
    assert answers.to_pylist() == [asdict(item) for item in truth(SMALL)]
    total = sum(len(words(row.text)) for row in rows)
    assert summary == synth_files.SynthSummary(12, len(rows), total, answers.num_rows)
    assert pq.ParquetFile(out / "data.parquet").num_row_groups == len(seen) > 2
    assert seen == sorted(seen)
    assert seen[-1] == total


def test_same_settings_same_bytes_for_the_owner_only(tmp_path):
    for name in ("one", "two"):
        synth(tmp_path / name, SMALL)
    assert (tmp_path / "one").stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [
        "data.parquet",
        "truth.parquet",
    ]
    for name in ("data.parquet", "truth.parquet"):
        one, two = tmp_path / "one" / name, tmp_path / "two" / name
        assert one.read_bytes() == two.read_bytes()
        assert one.stat().st_mode & 0o777 == 0o600


def test_an_empty_directory_is_used_and_anything_else_refused(tmp_path):
    synth(tmp_path, SMALL)
    before = (tmp_path / "data.parquet").read_bytes()
    with pytest.raises(LeakscopeError, match="already exists; choose another --out"):
        synth(tmp_path, SynthSettings(users=20))
    assert (tmp_path / "data.parquet").read_bytes() == before
    with pytest.raises(LeakscopeError, match="already exists"):
        synth(tmp_path / "data.parquet", SMALL)


def test_an_interrupted_run_leaves_no_file(tmp_path):
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        synth(tmp_path, SMALL, stop)
    assert list(tmp_path.iterdir()) == []
