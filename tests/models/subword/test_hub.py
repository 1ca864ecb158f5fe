"""Models by their names on the hub, from a cache as `huggingface_hub` lays it out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.models.subword.hub import find_model, is_hub_name, origin_of
from leakscope.records.runs.run_manifest import open_run
from tiny_causal import fluent, network, spoken, tokenizer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def cached(tmp_path):
    """A hub cache with acme/tiny-model in it, and texts that it predicts."""
    home = tmp_path / "hf" / "hub" / "models--acme--tiny-model"
    snapshot = home / "snapshots" / COMMIT
    tok = tokenizer("pieces")
    net = fluent(network("llama", len(tok)), tok)
    net.save_pretrained(snapshot)
    tok.save_pretrained(snapshot)
    for file in list(snapshot.iterdir()):  # the cache links to blobs
        (home / "blobs").mkdir(exist_ok=True)
        file.rename(home / "blobs" / f"blob-{file.name}")
        file.symlink_to(Path("../../blobs") / f"blob-{file.name}")
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(COMMIT)
    return snapshot, spoken(net, tok, documents=12, length=12)


def run(tmp_path, *arguments):
    """leakscope as its own process: `huggingface_hub` reads the environment when imported."""
    known = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    settings = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "leakscope", *map(str, arguments)]
    return subprocess.run(
        command, check=False, cwd=tmp_path, env=known | settings, capture_output=True, text=True
    )


def test_a_cached_model_is_audited_probed_and_named_in_the_manifest(cached, tmp_path):
    snapshot, texts = cached
    rows = [Row(f"u{index % 3}", text) for index, text in enumerate(texts) if text.strip()]
    build_rows(rows, tmp_path / "c", settings=BuildSettings(validation=0))
    asked = ("--top-k", 3, "--public", "acme/tiny-model@main", "--json")
    ran = run(tmp_path, "report", "acme/tiny-model", "c", "--out", "r", *asked)
    assert ran.returncode == 0, ran.stderr
    manifest, metrics = open_run(tmp_path / "r")
    assert manifest.name == "tiny-model" and metrics.occurrences > 0
    assert manifest.model.hub.model_dump() == {"name": "acme/tiny-model", "commit": COMMIT}
    assert manifest.public.hub.commit == COMMIT
    beside = run(tmp_path, "report", snapshot, "c", "--out", "r2", *asked)
    assert json.loads(beside.stdout) == json.loads(ran.stdout)
    assert open_run(tmp_path / "r2")[0].model_digest == manifest.model_digest


def test_names_that_are_not_there_are_one_sentence(cached, tmp_path):
    for name in ("acme/other", "acme/tiny-model@v2"):
        ran = run(tmp_path, "probe", name, "the cat")
        assert ran.returncode == 2 and "Traceback" not in ran.stderr
        assert "hub" in ran.stderr and len(ran.stderr.strip().splitlines()) == 1
    (tmp_path / "acme").mkdir()  # now it is a path
    ran = run(tmp_path, "probe", "acme/tiny-model", "the cat")
    assert ran.returncode == 2 and "not a model directory" in ran.stderr


def test_what_is_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    for name in ("acme/tiny", "a1/b.c-d_e", "acme/tiny@v1.0", "acme/tiny@refs/pr/3"):
        assert is_hub_name(Path(name))
    for path in (
        "models/mistyped", "tiny", "/acme/tiny", "../acme/tiny", "a/b/c", "acme/.hidden",
        "acme/tiny.gguf", "", ".", "acme/my model", "acme/tiny@", "~/tiny",
    ):  # fmt: skip
        assert not is_hub_name(Path(path)) and find_model(Path(path)) == Path(path)


def test_only_paths_in_a_cache_have_an_origin(cached, tmp_path):
    snapshot, _ = cached
    assert origin_of(snapshot) == {"name": "acme/tiny-model", "commit": COMMIT}
    assert origin_of(tmp_path / "model" / "snapshots" / "epoch-001") is None
    assert origin_of(Path("m")) is None
