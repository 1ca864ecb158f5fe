"""What can go wrong with remote storage: one sentence each, which names the URL and no secret."""

import os
import subprocess
import sys

import pytest

import leakscope
from leakscope.records.errors import LeakscopeError
from leakscope.storage.remote_address import cache_root
from remote_artifacts import ASKED, files_of, put
from s3_server import KEY, SECRET


def refused(*arguments: object, call=leakscope.corpus.info, **options: object) -> str:
    with pytest.raises(LeakscopeError) as told:
        call(*arguments, **options)
    said = str(told.value)
    assert said.endswith(".") and "\n" not in said
    assert SECRET not in said and KEY not in said and "AWS Error" not in said
    return said


def test_unknown_scheme(remote):
    said = refused("nonsense://bucket/corpus")
    assert said.startswith("URLs of nonsense:// cannot be opened; give s3://")


def test_missing_bucket(remote, local):
    assert refused("s3://nobucket/corpus").startswith("There is no bucket s3://nobucket;")
    build = leakscope.corpus.build
    said = refused(local / "rows.jsonl", "s3://nobucket/corpus", call=build)
    assert said.startswith("There is no bucket s3://nobucket;")


def test_no_such_key(remote, uploaded):
    assert refused(f"{remote}/none") == f"There is no {remote}/none; check the URL."
    said = refused(f"{remote}/model/snapshots/none", "the old", call=leakscope.probe)
    assert said == f"There is no {remote}/model/snapshots/none; check the URL."


def test_access_denied(remote, uploaded, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong+" + SECRET[:5])
    assert refused(f"{remote}/corpus").startswith(f"Access to {remote}/corpus is denied; check")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAUNKNOWN")
    said = refused(f"{remote}/rows.jsonl", f"{remote}/out", call=leakscope.corpus.build)
    assert said.startswith(f"Access to {remote}/out is denied") and "AKIAUNKNOWN" not in said


def test_no_credentials(remote, uploaded, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert refused(f"{remote}/corpus").startswith(f"Access to {remote}/corpus is denied")


def test_credentials_of_the_usual_files(remote, uploaded, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    (tmp_path / "keys").write_text(
        f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "keys"))
    assert leakscope.corpus.info(f"{remote}/corpus").lexicon > 0


def test_unreachable(remote, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    said = refused(f"{remote}/corpus")
    assert said.startswith(f"The server of {remote}/corpus cannot be reached or broke off; check")


def test_what_is_no_artifact_is_not_fetched(remote, uploaded, server):
    put({"else/notes.txt": b"x" * 1000}, uploaded)
    before = len(server.asked("GET OBJECT"))
    url = f"{remote}/else"
    assert refused(url) == f"{url} is not a corpus: it has no manifest.json."
    said = refused(url, f"{remote}/corpus", f"{remote}/x", call=leakscope.report)
    assert said == f"{url} is not a model: it has no config.json."
    assert refused(url, f"{remote}/x", call=leakscope.person, user="a").endswith("no metrics.json.")
    assert len([line for line in server.asked("GET OBJECT")[before:] if "notes" in line]) == 0
    assert not (uploaded / "x").exists()


def test_errors_of_the_work_itself_name_urls(remote, uploaded):
    said = refused(f"{remote}/run", f"{remote}/ada", call=leakscope.person, user="nobody")
    assert str(cache_root()) not in said
    leakscope.corpus.build(f"{remote}/rows.jsonl", f"{remote}/other", seed=5)
    arguments = (f"{remote}/run", f"{remote}/other", f"{remote}/hard")
    said = refused(*arguments, call=leakscope.harden)
    assert said.startswith(f"{remote}/run is a run on another corpus than {remote}/other")
    assert not (uploaded / "hard").exists()


def test_a_full_disk_is_told(remote, uploaded, tmp_path):
    """A file system of 64 KiB, in a name space of its own, for the cache."""
    folder = tmp_path / "small"
    folder.mkdir()
    put({"big.jsonl": b'{"user": "a", "text": "b"}\n' * 20_000}, uploaded)
    told = f'mount -t tmpfs -o size=64k none "{folder}" && exec "$@"'
    environment = os.environ | {"LEAKSCOPE_CACHE": str(folder), "OMP_NUM_THREADS": "1"}
    words = ["unshare", "--map-root-user", "--mount", "sh", "-c", told, "sh", sys.executable]
    words += ["-m", "leakscope", "corpus", "build", f"{remote}/big.jsonl", "--out", f"{remote}/x"]
    ran = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 2 and "Traceback" not in ran.stderr, ran.stderr
    assert f"No space is left in {folder}/remote, where remote files are kept" in ran.stderr
    assert not (uploaded / "x").exists()


def test_other_file_systems_of_fsspec_work(local, tmp_path, monkeypatch):
    """fsspec's own, in memory."""
    import fsspec

    monkeypatch.setenv("LEAKSCOPE_CACHE", str(tmp_path / "cache"))
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.pipe("/data/rows.jsonl", (local / "rows.jsonl").read_bytes())
    made = leakscope.corpus.build(
        "memory://data/rows.jsonl", "memory://made/corpus", validation=0.2
    )
    assert made == leakscope.corpus.info(local / "corpus")
    stored = {name.removeprefix("/made/corpus/") for name in memory.find("/made/corpus")}
    assert stored == files_of(local / "corpus").keys()
    content = memory.cat("/made/corpus/shards/00000.parquet")
    memory.pipe("/made/corpus/shards/00000.parquet", content[:-1] + b"?")
    monkeypatch.setenv("LEAKSCOPE_CACHE", str(tmp_path / "other"))
    assert "00000.parquet is truncated or damaged" in refused("memory://made/corpus")
    memory.store.clear()


@pytest.mark.parametrize("name", ["../../evil", "a/../../evil", "/evil"])
def test_names_that_lead_elsewhere_are_refused(name, local, tmp_path, monkeypatch):
    import fsspec

    monkeypatch.setenv("LEAKSCOPE_CACHE", str(tmp_path / "cache"))
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    for file, content in files_of(local / "corpus").items():
        memory.pipe(f"/made/corpus/{file}", content)
    memory.store[f"/made/corpus/{name}"] = memory.store["/made/corpus/manifest.json"]
    assert "has an object whose name leads out of it" in refused("memory://made/corpus")
    assert not [path for path in tmp_path.rglob("*") if path.name == "evil"]
    memory.store.clear()


def test_settings_objects_and_paths_may_hold_urls(remote, uploaded, tmp_path):
    from pathlib import Path

    from leakscope.settings import PersonSettings

    asked = PersonSettings(user="user1", corpus=Path(f"{remote}/corpus"))
    found = leakscope.person(Path(f"{remote}/run"), tmp_path / "ada", asked)
    assert found.sequences


def test_kept_public_models_are_uploaded_and_found_again(remote, uploaded):
    asked = {**ASKED, "public": "crossfit", "folds": 2, "public_dir": f"{remote}/public"}
    arguments = (f"{remote}/model", f"{remote}/corpus")
    leakscope.report(*arguments, f"{remote}/judged", **asked)
    models = files_of(uploaded / "public")
    assert any(name.endswith("folds.json") for name in models)
    leakscope.report(*arguments, f"{remote}/again", **asked)
    assert files_of(uploaded / "public") == models
