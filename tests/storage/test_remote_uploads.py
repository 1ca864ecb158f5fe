"""Uploads that are killed, cut or disturbed: nothing counts as finished too early, and the same
command completes it.
"""

import os
import signal
import subprocess
import sys
import time

import pytest

import leakscope
from leakscope.auditing.integrity import verification
from leakscope.records.errors import LeakscopeError
from leakscope.records.seal import SEAL
from leakscope.storage.mirror import Mirror
from leakscope.storage.publishing import RECORDS, is_last, upload_order
from leakscope.storage.remote_address import address_of
from leakscope.storage.remote_store import RemoteStore
from remote_artifacts import ASKED, SHAPE, files_of, put
from s3_server import KEY, SECRET, Wire


class KilledError(BaseException):
    """Stands for a kill: nothing of ours catches it."""


@pytest.fixture
def kills(monkeypatch):
    """Let the n-th upload fail, before or after the object is there; 0: none."""
    write, count = RemoteStore.write, 0

    def after(number: int, *, written: bool) -> None:
        nonlocal count
        count = 0

        def killed(store, name, source):
            nonlocal count
            count += 1
            if count == number and not written:
                raise KilledError
            write(store, name, source)
            if count == number:
                raise KilledError

        monkeypatch.setattr(RemoteStore, "write", killed)

    return after


def make(kind: str, remote: str, out: str) -> object:
    if kind == "corpus":
        return leakscope.corpus.build(f"{remote}/rows.jsonl", out, validation=0.2)
    if kind == "model":
        return leakscope.train(f"{remote}/corpus", out, **SHAPE)
    if kind == "person":
        return leakscope.person(f"{remote}/run", out, user="user1")
    return leakscope.report(f"{remote}/model", f"{remote}/corpus", out, **ASKED)


def open_it(kind: str, remote: str, url: str) -> object:
    """Use an artifact as the next command would."""
    if kind == "corpus":
        return leakscope.corpus.info(url)
    if kind == "model":
        return leakscope.probe(url, "the old")
    return leakscope.person(url, f"{url}-ada", user="user1")


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("kind", ["corpus", "model", "run", "person"])
def test_killed_at_every_upload(kind, written, uploaded, remote, kills, monkeypatch, tmp_path):
    """A reader on another machine never takes a part for the whole, and the same command goes on
    with what is there.
    """
    out, number, attempts = f"{remote}/made", 0, 0
    while True:
        number += 1
        kills(1 if number > 1 else 2, written=written)  # each attempt gets one file further
        try:
            found = make(kind, remote, out)
            break
        except KilledError:
            attempts += 1
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv("LEAKSCOPE_CACHE", str(tmp_path / f"other-{number}"))
            there = files_of(uploaded / "made").keys()
            if kind != "person" and there != files_of(uploaded / kind).keys():
                with pytest.raises(LeakscopeError):
                    open_it(kind, remote, out)
        if not written:
            kills(0, written=False)
            found = make(kind, remote, out)
            break
    files = files_of(uploaded / "made")
    assert found is not None and attempts >= 1
    if written:
        assert attempts >= len(files) - 1
    for each in leakscope.verify(out):
        assert not each.is_damaged and each.unfinished is None and not each.extra, each
    with pytest.raises(LeakscopeError, match="already exists"):
        make(kind, remote, out)


def test_a_finished_output_is_not_made_twice(uploaded, remote, kills, monkeypatch):
    kills(3, written=False)
    with pytest.raises(KilledError):
        make("run", remote, f"{remote}/made")
    kills(0, written=False)
    monkeypatch.setattr("leakscope.commands.report.ReportJob", None)  # nothing is computed again
    run = make("run", remote, f"{remote}/made")
    assert run.metrics.sequences > 0
    assert (uploaded / "made" / "metrics.json").is_file()


@pytest.mark.parametrize("file", ["occurrences.parquet", "metrics.json", "report.html", SEAL])
@pytest.mark.parametrize("gone", [False, True])
def test_damage_here_is_not_uploaded(uploaded, remote, kills, file, gone):
    """A finished output may wait in the cache for long."""
    kills(1, written=False)
    with pytest.raises(KilledError):
        make("run", remote, f"{remote}/made")
    kills(0, written=False)
    path = Mirror(address_of(f"{remote}/made")).path / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    if gone and file != SEAL:
        path.unlink()
    with pytest.raises(LeakscopeError, match=f"{remote}/made/{file} was damaged on this machine"):
        make("run", remote, f"{remote}/made")
    assert not (uploaded / "made" / "manifest.json").exists()


def test_another_command_does_not_take_up_what_is_not_uploaded(uploaded, remote, kills):
    kills(2, written=True)
    with pytest.raises(KilledError):
        make("run", remote, f"{remote}/made")
    kills(0, written=False)
    with pytest.raises(LeakscopeError, match="a finished report that is not uploaded yet"):
        leakscope.report(f"{remote}/model", f"{remote}/corpus", f"{remote}/made", top_k=5)
    with pytest.raises(LeakscopeError, match="an unfinished report on this machine"):
        make("corpus", remote, f"{remote}/made")
    make("run", remote, f"{remote}/made")


def test_an_error_tells_where_unfinished_work_is(uploaded, remote, tmp_path):
    """There is nothing at the URL that could be removed."""

    def stopping(stage: str, done: int, total: int | None = None, note: str = "") -> None:
        if stage == "train" and done >= 13:
            raise KilledError

    asked = {**SHAPE, "checkpoint_steps": 5}
    with pytest.raises(KilledError):
        leakscope.train(f"{remote}/corpus", f"{remote}/made", progress=stopping, **asked)
    with pytest.raises(LeakscopeError) as told:
        leakscope.train(f"{remote}/corpus", f"{remote}/made", **{**asked, "seed": 7})
    said = str(told.value)
    assert f"What was begun for {remote}/made is kept in {tmp_path / 'cache'}/" in said
    assert not (uploaded / "made").exists()


def test_what_others_put_there_meanwhile_stays(uploaded, remote, kills):
    kills(2, written=True)
    with pytest.raises(KilledError):
        make("corpus", remote, f"{remote}/made")
    kills(0, written=False)
    put({"lexicon.parquet": b"somebody else's"}, uploaded / "made")
    before = files_of(uploaded / "made")
    with pytest.raises(LeakscopeError, match=f"{remote}/made already exists"):
        make("corpus", remote, f"{remote}/made")
    assert files_of(uploaded / "made") == before


def test_two_who_write_there_at_once_are_noticed(uploaded, remote, monkeypatch):
    write = RemoteStore.write

    def disturbed(store, name, source):
        write(store, name, source)
        put({"shards/99999.parquet": b"of another machine"}, uploaded / "made")

    monkeypatch.setattr(RemoteStore, "write", disturbed)
    with pytest.raises(LeakscopeError, match=f"Somebody else is writing into {remote}/made"):
        make("corpus", remote, f"{remote}/made")
    assert not (uploaded / "made" / "manifest.json").exists()


def test_a_server_that_stores_something_else_is_noticed(uploaded, remote, monkeypatch):
    write = RemoteStore.write

    def stored(store, name, source):
        write(store, name, source)
        if name == "lexicon.parquet":
            content = (uploaded / "made" / name).read_bytes()
            (uploaded / "made" / name).write_bytes(content[:-1] + b"?")

    monkeypatch.setattr(RemoteStore, "write", stored)
    with pytest.raises(LeakscopeError, match=r"made/lexicon.parquet is not what was uploaded"):
        make("corpus", remote, f"{remote}/made")
    assert not (uploaded / "made" / "manifest.json").exists()


def test_sigkill_in_the_middle_of_an_upload(uploaded, remote, server, tmp_path):
    """A real process, killed when its first objects are there."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-m", "leakscope", "corpus", "build", f"{remote}/rows.jsonl"]
    words += ["--out", f"{remote}/made", "--validation", "0.2", "--shard-words", "100", "--quiet"]
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    for _ in range(6000):
        if len(server.names(f"{uploaded.name}/made")) >= 2 or process.poll() is not None:
            break
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (uploaded / "made" / "manifest.json").exists()
    with pytest.raises(LeakscopeError):
        leakscope.corpus.info(f"{remote}/made")
    ran = subprocess.run(words, env=environment, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert leakscope.verify(f"{remote}/made")[0].checked > 5
    assert KEY not in ran.stdout + ran.stderr and SECRET not in ran.stdout + ran.stderr


@pytest.mark.parametrize("left", [0, 3_000, 30_000, 60_000])
def test_a_cut_wire_gives_one_sentence_and_keeps_what_is_done(
    left, uploaded, remote, server, monkeypatch
):
    wire = Wire(server)
    monkeypatch.setenv("AWS_ENDPOINT_URL", wire.url)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    wire.left = left
    with pytest.raises(LeakscopeError) as told:
        make("run", remote, f"{remote}/made")
    said = str(told.value)
    assert said.startswith("The server of ") and "what is done is kept" in said, said
    assert SECRET not in said and KEY not in said and wire.url not in said
    wire.left = None
    make("run", remote, f"{remote}/made")
    assert (uploaded / "made" / "metrics.json").is_file()
    wire.close()


def test_what_makes_an_artifact_count_comes_last():
    kinds = set().union(*verification._KINDS.values(), verification._MAIN)
    data = {"lexicon.parquet", "model.safetensors", "vocabulary.json", "optimizer.json"}
    assert kinds - data - {"compare.html"} <= set(RECORDS)
    names = ["config.json", "snapshots/a/config.json", "snapshots/a/seal.txt", SEAL, "z.bin"]
    ordered = sorted([*names, "snapshots/a/model.safetensors"], key=upload_order)
    assert ordered == [
        "snapshots/a/model.safetensors", "z.bin", "snapshots/a/seal.txt",
        "snapshots/a/config.json", SEAL, "config.json",
    ]  # fmt: skip
    assert [is_last(name) for name in ordered] == [False, False, True, True, True, True]
