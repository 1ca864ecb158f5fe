import gzip
import json
import os

import pytest
import zstandard

from leakscope.corpus.readers.detect import FORMATS, detect, read
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import Row
from leakscope.records.errors import LeakscopeError

USER = {"user": "ann", "text": "hi"}
COMMENT = {"author": "ann", "body": "hi"}
SUBMISSION = {"author": "ann", "title": "T", "selftext": "hi"}


@pytest.mark.parametrize(
    ("name", "record", "format"),
    [
        ("a.jsonl", USER, "jsonl"),
        ("a.ndjson", USER, "jsonl"),
        ("a.json", USER, "jsonl"),
        ("A.JSONL", USER, "jsonl"),
        ("a.jsonl.gz", USER, "jsonl"),
        ("a.json.zst", USER, "jsonl"),
        ("a.zst", USER, "jsonl"),
        ("a.jsonl", COMMENT, "reddit"),
        ("a.jsonl.gz", SUBMISSION, "reddit"),
        ("cats_comments.zst", COMMENT, "reddit"),
        ("a.jsonl", {**COMMENT, "text": "x"}, "jsonl"),
        ("a.jsonl", {**COMMENT, "user": "x"}, "jsonl"),
        ("a.jsonl", {"author": "ann"}, "jsonl"),
        ("RC_2019-01", USER, "reddit"),
        ("RC_2019-01.zst", USER, "reddit"),
        ("RS_2019-01.json.gz", USER, "reddit"),
        ("a.jsonl", [], "jsonl"),
        ("a.csv", None, "csv"),
        ("a.csv.gz", None, "csv"),
        ("RC_2019.csv", None, "csv"),
        ("a.parquet", None, "parquet"),
        ("a.pq", None, "parquet"),
        ("a.arrow", None, "arrow"),
        ("a.feather", None, "arrow"),
        ("a.mbox", None, "mbox"),
        ("a.mbx", None, "mbox"),
        ("a.mbox.gz", None, "mbox"),
    ],
)
def test_files(tmp_path, name, record, format):
    path = tmp_path / name
    compress = {".gz": gzip.compress, ".zst": zstandard.compress}.get(path.suffix, bytes)
    path.write_bytes(compress(b"\njunk\n" + json.dumps(record).encode()))
    assert detect(path) == format


@pytest.mark.parametrize("name", ["a.txt", "a", "a.parquet.gz", "RC_2010-01.bz2", "a.tar.gz"])
def test_unknown_files_list_the_formats(tmp_path, name):
    (tmp_path / name).write_text("x")
    with pytest.raises(LeakscopeError, match=r"--format with one of jsonl, csv, .*, git"):
        detect(tmp_path / name)


@pytest.mark.parametrize(
    ("entries", "format"),
    [
        (["dataset_info.json", "state.json", "data-00000-of-00001.arrow"], "arrow"),
        (["dataset_dict.json", "train/"], "arrow"),
        (["cur/", "new/", "tmp/"], "maildir"),
        ([".git/", "a.csv"], "git"),
        ([".git", "a.csv"], "git"),
        (["HEAD", "objects/", "refs/"], "git"),
    ],
)
def test_folders(tmp_path, entries, format):
    for entry in entries:
        (tmp_path / entry).mkdir() if entry.endswith("/") else (tmp_path / entry).touch()
    assert detect(tmp_path) == format


def test_a_folder_of_data_files_asks_for_the_files(tmp_path):
    for name in ("a.parquet", "b.jsonl.zst", "c.csv", ".hidden"):
        (tmp_path / name).touch()
    with pytest.raises(LeakscopeError, match="name the files themselves"):
        detect(tmp_path)
    (tmp_path / "readme.txt").touch()
    with pytest.raises(LeakscopeError, match="--format"):
        detect(tmp_path)


def test_read_checks_at_once(tmp_path):
    with pytest.raises(LeakscopeError, match=r"none.csv does not exist"):
        read(tmp_path / "none.csv", InputSettings())
    (tmp_path / "a.csv").touch()
    with pytest.raises(LeakscopeError, match='no format "xls": choose one of jsonl, csv'):
        read(tmp_path / "a.csv", InputSettings(format="xls"))


def test_an_access_that_is_refused_is_an_error(tmp_path, monkeypatch):
    """Asked of the kernel by os.access, which refuses root nothing: so its answer is set here."""
    path = tmp_path / "a.csv"
    path.touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(LeakscopeError, match="not readable"):
        read(path, InputSettings())


def test_a_format_that_is_given_wins(tmp_path):
    path = tmp_path / "RC_data.csv"
    path.write_text(json.dumps(USER))
    assert list(read(path, InputSettings(format="jsonl"))) == [Row("ann", "hi")]


def test_formats_are_named_as_documented():
    names = ["jsonl", "csv", "parquet", "arrow", "mbox", "maildir", "reddit", "git"]
    assert list(FORMATS) == names
