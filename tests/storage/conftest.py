"""A server, a cache for each test, and small artifacts that were made locally."""

import json

import pytest

import leakscope
import whole_run
from remote_artifacts import ASKED, SHAPE, files_of, put
from s3_server import S3Server


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with S3Server(tmp_path_factory.mktemp("s3")) as found:
        yield found


@pytest.fixture
def remote(server, tmp_path, monkeypatch):
    """The URL of an empty folder of the bucket; this process can reach it."""
    for name, value in server.environment(tmp_path / "cache").items():
        monkeypatch.setenv(name, value)
    return f"s3://bucket/{tmp_path.name}"


@pytest.fixture
def objects(server, remote):
    """Where the objects below `remote` are, as files of the server."""
    folder = server.files / remote.rpartition("/")[2]
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """rows.jsonl, corpus, model, run: what everything remote is compared with."""
    folder = tmp_path_factory.mktemp("local")
    rows = "".join(json.dumps(row) + "\n" for row in whole_run.rows())
    (folder / "rows.jsonl").write_text(rows)
    leakscope.corpus.build(folder / "rows.jsonl", folder / "corpus", validation=0.2)
    leakscope.train(folder / "corpus", folder / "model", **SHAPE)
    leakscope.report(folder / "model", folder / "corpus", folder / "run", **ASKED)
    return folder


@pytest.fixture
def uploaded(local, objects):
    """rows.jsonl, corpus, model and run, as somebody else has put them there."""
    put(files_of(local), objects)
    return objects
