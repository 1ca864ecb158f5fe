"""URLs and the local paths that stand for them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.records.errors import LeakscopeError
from leakscope.storage.remote_address import (
    address_at,
    address_of,
    cache_root,
    mirror_home,
    mirror_path,
    placed,
    spelled,
    with_urls,
)

PART = st.text(st.characters(codec="utf-8", exclude_characters="/?@\0\n"), min_size=1, max_size=40)
PARTS = st.lists(PART.filter(lambda part: part not in (".", "..")), min_size=1, max_size=9)
URLS = PARTS.map(lambda parts: "s3://bucket/" + "/".join(parts))


@given(URLS)
def test_a_url_can_be_read_off_the_path_that_stands_for_it(url):
    address = address_of(url)
    path = mirror_path(address)
    assert path.name == url.rpartition("/")[2]
    assert address_at(path) == address
    assert spelled(path) == url
    assert placed(url) == path
    assert spelled(path / "shards" / "00000.parquet") == f"{url}/shards/00000.parquet"
    assert all(len(part.encode()) <= 255 for part in mirror_home(address).parts)


@given(URLS, URLS)
def test_a_text_with_such_paths_names_the_urls(one, other):
    paths = [mirror_path(address_of(url)) for url in (one, other)]
    text = f"{paths[0]} is not {paths[1]}/manifest.json; see {cache_root()}."
    assert with_urls(text) == f"{one} is not {other}/manifest.json; see {cache_root()}."


def test_paths_inside_a_mirror_stand_for_themselves_but_snapshots():
    model = mirror_path(address_of("s3://bucket/model"))
    assert address_at(model / "model.safetensors") is None
    assert address_at(Path("/somewhere/else")) is None
    step = address_of("s3://bucket/model/snapshots/epoch-001")
    assert mirror_path(step) == model / "snapshots" / "epoch-001"
    assert address_at(mirror_path(step)) == step


def test_what_is_no_remote_url_stays_as_it_is():
    for text in ("corpus", "./a://b", "owner/model", "http://127.0.0.1:8000/v1", "c:\\x"):
        assert placed(text) == text and address_of(text) is None
    assert placed("file:///tmp/a%20corpus") == "/tmp/a corpus"


def test_what_pathlib_leaves_of_a_url_is_understood(tmp_path, monkeypatch):
    url = "s3://bucket/corpus"
    assert address_of(Path(url)) == address_of(url + "/") == address_of(url)
    monkeypatch.chdir(tmp_path)
    Path("s3:/bucket/corpus").mkdir(parents=True)
    assert address_of(Path(url)) is None  # there is such a folder, however odd


@pytest.mark.parametrize(
    "url",
    [
        "s3://key:hunter2@bucket/corpus",
        "s3://key@bucket/hunter2",
        "sftp://ada:hunter2@host/corpus",
        "abfs://data@account/corpus?sas=hunter2",
    ],
)
def test_secrets_in_urls_are_refused_and_not_repeated(url):
    with pytest.raises(LeakscopeError) as refused:
        address_of(url)
    assert "hunter2" not in str(refused.value) and "environment" in str(refused.value)


@pytest.mark.parametrize("url", ["s3://", "s3:///x", "s3://bucket//x", "s3://bucket/../x"])
def test_what_cannot_be_an_address_is_refused(url):
    with pytest.raises(LeakscopeError, match="is not the URL of a file or directory"):
        address_of(url)


def test_other_servers_have_other_mirrors(monkeypatch):
    address = address_of("s3://bucket/corpus")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    amazon = mirror_home(address)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    assert mirror_home(address) != amazon
    assert spelled(mirror_path(address)) == address.url
