"""Builds on Ray: byte for byte the corpora that threads make."""

import json

import pytest

from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build
from leakscope.corpus.store import Corpus
from leakscope.records.errors import LeakscopeError

HOW = BuildSettings(validation=0.2, shard_words=900)


class Small(BuildResources):
    run_bytes = 9000
    piece_bytes = 16000


@pytest.fixture
def source(tmp_path):
    rows = [{"user": f"u{n % 17}", "text": f"number {n} of {n % 17} " * 4} for n in range(400)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write('{"user": "a", "text": "cut off\n')
    return tmp_path / "a.jsonl"


def content(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_cluster_makes_the_same_corpus(tmp_path, source, capfd):
    told = []
    build(source, tmp_path / "here", settings=HOW, resources=Small(threads=1))
    resources = Small(threads=2, engine="ray")
    build(
        source,
        tmp_path / "there",
        settings=HOW,
        resources=resources,
        progress=lambda *said: told.append(said),
    )
    made = content(tmp_path / "there")
    assert made == content(tmp_path / "here") and len(made) > 5
    assert sum(Corpus.open(tmp_path / "there").manifest.set_aside.values()) == 1
    most = {stage: total for stage, _, total, *_ in told}
    assert min(most[stage] for stage in ("read", "number words", "write shards")) > 3
    assert capfd.readouterr() == ("", "")


def test_an_address_is_about_ray():
    with pytest.raises(LeakscopeError, match="give --engine ray too"):
        BuildResources(address="127.0.0.1:6379")
