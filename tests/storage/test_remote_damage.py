"""Damage of remote files is found, named, and never becomes part of a result."""

import random
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

import leakscope
from leakscope.records.errors import LeakscopeError
from leakscope.storage.remote_store import RemoteStore
from remote_artifacts import ASKED, files_of, put


def flip(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_any_flipped_bit_is_named_and_gives_no_result(
    local, uploaded, remote, tmp_path, monkeypatch
):
    """Of every file of a corpus and of a model, a bit; each time with an empty cache."""
    draw = random.Random(5)
    silent = []
    for name in ("corpus", "model"):
        files = {k: v for k, v in files_of(local / name).items() if "snapshots" not in k}
        for file, content in files.items():
            monkeypatch.setenv("LEAKSCOPE_CACHE", str(tmp_path / f"cache-{name}-{Path(file).name}"))
            put({file: flip(content, draw.randrange(8 * len(content)))}, uploaded / name)
            try:
                leakscope.report(f"{remote}/model", f"{remote}/corpus", f"{remote}/x", **ASKED)
                silent.append(file)
            except LeakscopeError as error:
                if f"{remote}/{name}/{file} is truncated or damaged" not in str(error):
                    silent.append(f"{file}: {error}")
            put({file: content}, uploaded / name)
    assert silent == []
    assert not (uploaded / "x").exists()
    leakscope.report(f"{remote}/model", f"{remote}/corpus", f"{remote}/x", **ASKED)


@pytest.mark.parametrize("left", [0, 1, 500])
def test_a_truncated_object_is_named(uploaded, remote, left, server):
    shard = uploaded / "corpus" / "shards" / "00000.parquet"
    shard.write_bytes(shard.read_bytes()[:left])
    before = len(server.asked("GET OBJECT"))
    with pytest.raises(LeakscopeError, match=rf"{remote}/corpus/shards/00000.parquet is truncated"):
        leakscope.train(f"{remote}/corpus", f"{remote}/new", epochs=1)
    tries = [line for line in server.asked("GET OBJECT")[before:] if "00000.parquet" in line]
    assert len(tries) == (2 if left else 0)  # nothing is asked for of an empty object
    assert not (uploaded / "new").exists()


def test_a_missing_object_is_named(uploaded, remote):
    (uploaded / "corpus" / "shards" / "00000.parquet").unlink()
    with pytest.raises(LeakscopeError, match=rf"{remote}/corpus/shards/00000.parquet is missing"):
        leakscope.corpus.info(f"{remote}/corpus")


def test_damage_is_mended_by_a_good_copy(local, uploaded, remote):
    """What failed keeps nothing bad in the cache."""
    shard = uploaded / "corpus" / "shards" / "00000.parquet"
    good = shard.read_bytes()
    shard.write_bytes(flip(good, 4321))
    with pytest.raises(LeakscopeError):
        leakscope.corpus.info(f"{remote}/corpus")
    shard.write_bytes(good)
    assert leakscope.corpus.info(f"{remote}/corpus") == leakscope.corpus.info(local / "corpus")


def test_damage_in_the_cache_is_fetched_again(local, uploaded, remote, tmp_path, server):
    leakscope.corpus.info(f"{remote}/corpus")
    (cached,) = (tmp_path / "cache").rglob("00000.parquet")
    cached.write_bytes(flip(cached.read_bytes(), 77))
    before = len(server.asked("GET OBJECT"))
    leakscope.report(local / "model", f"{remote}/corpus", f"{remote}/x", **ASKED)
    fetched = [line for line in server.asked("GET OBJECT")[before:] if "/x/" not in line]
    assert [line.rpartition("/")[2] for line in fetched if "seal" not in line] == ["00000.parquet"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_file_that_is_changed_while_it_is_read(uploaded, remote, tmp_path, monkeypatch, times):
    """Raw text has no seal. What is read is all of what is there then, or nothing."""
    rows, reading, left = uploaded / "rows.jsonl", RemoteStore.reading, times

    @contextmanager
    def changing(store, name):
        nonlocal left
        with reading(store, name) as found:
            if left:
                left -= 1
                rows.write_bytes(rows.read_bytes()[:-40])
            yield found

    monkeypatch.setattr(RemoteStore, "reading", changing)
    if times == 1:
        leakscope.corpus.build(f"{remote}/rows.jsonl", tmp_path / "corpus")
        (copy,) = (tmp_path / "cache").rglob("rows.jsonl")
        assert copy.read_bytes() == rows.read_bytes()
    else:
        with pytest.raises(LeakscopeError, match=rf"{remote}/rows.jsonl is truncated or damaged"):
            leakscope.corpus.build(f"{remote}/rows.jsonl", tmp_path / "corpus")


def test_verify_reads_what_is_there_and_not_the_cache(uploaded, remote):
    leakscope.corpus.info(f"{remote}/corpus")
    shard = uploaded / "corpus" / "shards" / "00000.parquet"
    shard.write_bytes(flip(shard.read_bytes(), 4321))
    (found,) = leakscope.verify(f"{remote}/corpus")
    assert found.is_damaged and found.changed == ("shards/00000.parquet",)
    shard.unlink()
    (found,) = leakscope.verify(f"{remote}/corpus")
    assert found.missing == ("shards/00000.parquet",)


def test_a_signature_is_uploaded(uploaded, remote, tmp_path):
    key = tmp_path / "key"
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada@example.org", "-f", key]
    subprocess.run(words, check=True)
    before = files_of(uploaded / "run")
    leakscope.verify(f"{remote}/run", sign=key)
    signed = files_of(uploaded / "run")
    assert {name: signed[name] for name in before} == before
    assert signed.keys() - before.keys() == {"seal.txt.sig"}
    (tmp_path / "signers").write_text("ada@example.org " + (tmp_path / "key.pub").read_text())
    (found,) = leakscope.verify(
        f"{remote}/run", signers=tmp_path / "signers", signer="ada@example.org"
    )
    assert found.signed
