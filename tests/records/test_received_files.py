"""Pipes, devices and links in a circle, in directories that somebody else has made."""

import os
import shutil
import signal

import pytest

from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.mail import read_maildir
from leakscope.corpus.readers.rows import LINK_NOWHERE, Row
from leakscope.corpus.readers.table import read_arrow
from leakscope.corpus.store import Corpus
from leakscope.models.subword.hub import find_model
from leakscope.records.errors import LeakscopeError
from leakscope.records.received_files import real_path, refuse_special_files
from leakscope.records.runs.run_manifest import open_run


@pytest.fixture(autouse=True)
def _soon():
    """Whoever opens a pipe that nobody writes into would wait for ever."""

    def wake(*_):
        raise AssertionError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, wake)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def corpus(make_corpus):
    return make_corpus([(f"u{i % 3}", f"hello number {i % 5}") for i in range(20)])


@pytest.mark.parametrize("name", ["manifest.json", "lexicon.parquet", "shards/00000.parquet"])
def test_a_pipe_in_a_corpus_is_refused(corpus, name):
    (corpus.path / name).unlink()
    os.mkfifo(corpus.path / name)
    with pytest.raises(LeakscopeError, match=f"{name} is a pipe or a device"):
        Corpus.open(corpus.path)


def test_a_pipe_in_a_model_or_run_is_refused(tmp_path):
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(LeakscopeError, match="is a pipe or a device"):
        find_model(tmp_path)
    os.mkfifo(tmp_path / "manifest.json")
    with pytest.raises(LeakscopeError, match="is a pipe or a device"):
        open_run(tmp_path)


@pytest.mark.parametrize("option", ["--warm-start", "--vocabulary-from"])
def test_a_pipe_in_a_model_to_start_from_is_refused(corpus, tmp_path, option, monkeypatch, capsys):
    from leakscope.cli.app import main

    (tmp_path / "m").mkdir()
    os.mkfifo(tmp_path / "m" / "config.json")
    asked = ["train", str(corpus.path), option, str(tmp_path / "m"), "--out", str(tmp_path / "o")]
    monkeypatch.setattr("sys.argv", ["leakscope", *asked])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2 and "is a pipe or a device" in capsys.readouterr().err


def test_a_link_to_a_device_is_refused_and_a_link_to_a_file_is_not(tmp_path):
    (tmp_path / "blob").write_text("{}")
    (tmp_path / "config.json").symlink_to("blob")
    (tmp_path / "nowhere").symlink_to("missing")
    (tmp_path / "circle").symlink_to("circle")
    refuse_special_files(tmp_path)
    refuse_special_files(tmp_path / "blob")
    refuse_special_files(tmp_path / "missing")
    (tmp_path / "model.safetensors").symlink_to("/dev/zero")
    with pytest.raises(LeakscopeError, match="is a pipe or a device"):
        refuse_special_files(tmp_path)


def test_a_circle_of_links_is_not_a_letter_but_is_counted(tmp_path):
    for part in ("cur", "new"):
        (tmp_path / part).mkdir()
    (tmp_path / "cur" / "1").symlink_to("2")
    (tmp_path / "cur" / "2").symlink_to("1")
    (tmp_path / "cur" / "3").symlink_to("gone")
    (tmp_path / "new" / "4").write_bytes(b"From: a@x.org\n\nhi\n")
    (tmp_path / "new" / "5").symlink_to("4")
    rows = list(read_maildir(tmp_path, InputSettings()))
    hi = Row("a@x.org", "hi")
    assert rows == [*[Row(None, None, LINK_NOWHERE)] * 3, hi, hi]
    assert real_path(tmp_path / "new" / "5") == real_path(tmp_path) / "new" / "4"


def test_a_circle_of_links_in_a_dataset_or_corpus_is_one_sentence(tmp_path, corpus):
    folder = tmp_path / "dataset"
    folder.mkdir()
    (folder / "state.json").write_text('{"_data_files": [{"filename": "x.arrow"}]}')
    (folder / "x.arrow").symlink_to("x.arrow")
    with pytest.raises(LeakscopeError, match="missing from the saved dataset"):
        list(read_arrow(folder, InputSettings()))
    received = shutil.copytree(corpus.path, tmp_path / "received")
    shard = received / "shards" / "00000.parquet"
    shard.unlink()
    shard.symlink_to(shard.name)
    with pytest.raises(LeakscopeError, match="damaged"):
        list(Corpus.open(received).documents())
