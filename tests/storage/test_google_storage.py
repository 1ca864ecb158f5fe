"""gs:// goes the way of s3://: the same bytes, damage noticed, errors in a sentence."""

import pytest

import leakscope
from gcs_server import GoogleServer
from leakscope.records.errors import LeakscopeError
from leakscope.storage.remote_address import placed
from remote_artifacts import ASKED, SHAPE, comparable, files_of


@pytest.fixture(scope="module")
def google(tmp_path_factory):
    with GoogleServer(tmp_path_factory.mktemp("gs")) as found:
        yield found


@pytest.fixture
def remote(google, tmp_path, monkeypatch):
    """The URL of an empty folder of the bucket; this process can reach it."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", google.url)
    monkeypatch.setenv("LEAKSCOPE_CACHE", str(tmp_path / "cache"))
    return f"gs://bucket/{tmp_path.name}"


def test_all_of_it_remote_gives_the_same_bytes(local, google, remote):
    below = remote.rpartition("/")[2]
    google.put(f"{below}/rows.jsonl", (local / "rows.jsonl").read_bytes())
    leakscope.corpus.build(f"{remote}/rows.jsonl", f"{remote}/corpus", validation=0.2)
    leakscope.train(f"{remote}/corpus", f"{remote}/model", **SHAPE)
    leakscope.report(f"{remote}/model", f"{remote}/corpus", f"{remote}/run", **ASKED)
    for name in ("corpus", "model", "run"):
        found = google.files(f"{below}/{name}")
        assert comparable(found) == comparable(files_of(local / name))
    assert all(each.is_damaged is False for each in leakscope.verify(remote))


def test_what_has_changed_there_is_fetched_and_what_is_damaged_refused(local, google, remote):
    below = remote.rpartition("/")[2]
    for name, content in files_of(local / "corpus").items():
        google.put(f"{below}/corpus/{name}", content)
    leakscope.corpus.info(f"{remote}/corpus")
    shard = "shards/00000.parquet"
    content = (local / "corpus" / shard).read_bytes()
    google.put(f"{below}/corpus/{shard}", content[:-1] + bytes([content[-1] ^ 1]))
    (found,) = leakscope.verify(f"{remote}/corpus")
    assert found.is_damaged and found.changed == (shard,)
    rows = (local / "rows.jsonl").read_bytes()
    for number, text in enumerate((rows, rows.replace(b"winters", b"summers"))):
        google.put(f"{below}/rows.jsonl", text)
        leakscope.corpus.build(f"{remote}/rows.jsonl", f"{remote}/made{number}")
    first, second = (leakscope.corpus.info(f"{remote}/made{number}") for number in range(2))
    assert first.inputs[0].digest != second.inputs[0].digest


def refused(url: str) -> str:
    with pytest.raises(LeakscopeError) as told:
        leakscope.corpus.info(url)
    return str(told.value)


def test_what_is_not_there(remote):
    assert refused(f"{remote}/none") == f"There is no {remote}/none; check the URL."
    assert refused("gs://nobucket/corpus").startswith("There is no bucket gs://nobucket;")


def test_two_servers_share_no_cache(remote, monkeypatch):
    first = placed(f"{remote}/corpus")
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:1")
    assert placed(f"{remote}/corpus") != first


def test_without_credentials_nobody_is_asked(tmp_path, monkeypatch):
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "NO_GCE_CHECK", "STORAGE_EMULATOR_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LEAKSCOPE_CACHE", str(tmp_path / "cache"))
    said = refused("gs://bucket/corpus")
    assert (
        said.startswith("There are no credentials for gs://; run gcloud auth") and "NO_GCE" in said
    )
