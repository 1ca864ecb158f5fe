"""Outputs that wait for their upload, since the server took none, while what they were made from is
replaced: they are never uploaded as the outputs of something else.
"""

import json
import os
import shutil

import pytest

import leakscope
import whole_run
from leakscope.commands.input_contents import contents_of
from leakscope.records.errors import LeakscopeError
from leakscope.storage.mirror import Mirror
from leakscope.storage.remote_address import address_of
from remote_artifacts import ASKED, SHAPE, files_of, put
from s3_server import S3Server, Wire
from saved_causal import saved

NOTHING = {"format": None, "base": None}


@pytest.fixture
def wire(server, remote, monkeypatch):
    """Leads to a server that only lets itself be read, until it is led to another."""
    with S3Server(server.files.parent.parent, read_only=True) as closed:
        wire = Wire(closed)
        monkeypatch.setenv("AWS_ENDPOINT_URL", wire.url)
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
        yield wire
        wire.close()


@pytest.fixture(scope="session")
def other(tmp_path_factory):
    """The same kinds of artifacts, of other rows: of as many bytes in the file of rows."""
    folder = tmp_path_factory.mktemp("other")
    rows = "".join(json.dumps(row) + "\n" for row in whole_run.rows())
    (folder / "rows.jsonl").write_text(rows.replace("hill", "mill"))
    leakscope.corpus.build(folder / "rows.jsonl", folder / "corpus", validation=0.2)
    leakscope.train(folder / "corpus", folder / "model", **SHAPE, seed=9)
    (folder / "few").write_text("user2\n")
    return folder


def fill(here, source, *names):
    """Put artifacts at paths that others may have had; all files are of the same time."""
    for name in names:
        if (source / name).is_dir():
            shutil.rmtree(here / name, ignore_errors=True)
            shutil.copytree(source / name, here / name)
        else:
            shutil.copy(source / name, here / name)
    for file in here.rglob("*"):
        os.utime(file, (0, 0))


@pytest.fixture
def here(local, tmp_path):
    """rows.jsonl, corpus, model and a list of users at local paths."""
    place = tmp_path / "here"
    place.mkdir()
    fill(place, local, "rows.jsonl", "corpus", "model")
    (place / "few").write_text("user1\n")
    return place


COMMANDS = {
    "build": (["rows.jsonl"], lambda at, out: leakscope.corpus.build(at / "rows.jsonl", out)),
    "clean": (["corpus"], lambda at, out: leakscope.corpus.clean(at / "corpus", out, min_users=2)),
    "train": (["corpus"], lambda at, out: leakscope.train(at / "corpus", out, **SHAPE)),
    "report": (
        ["model", "corpus"],
        lambda at, out: leakscope.report(at / "model", at / "corpus", out, **ASKED),
    ),
    "users": (
        ["few"],
        lambda at, out: leakscope.report(
            at / "model", at / "corpus", out, users=at / "few", **ASKED
        ),
    ),
    "plant": (
        ["rows.jsonl"],
        lambda at, out: leakscope.canary.plant(at / "rows.jsonl", out, users=2, schedule="1"),
    ),
}


@pytest.mark.parametrize("kind", list(COMMANDS))
def test_replaced_inputs_are_refused(kind, here, other, local, server, remote, wire):
    """At the same paths, as large as before and of the same time; what was there may come back."""
    changed, make = COMMANDS[kind]
    out = f"{remote}/made"
    told = wait_for_upload(make, here, out)
    fill(here, other, *changed)
    wire.lead_to(server)
    with pytest.raises(LeakscopeError) as refused:
        make(here, out)
    assert f"{out} holds a finished {told} that is not uploaded yet and was" in str(refused.value)
    assert server.names(remote.rpartition("/")[2]) == set()
    fill(here, local, *(name for name in changed if name != "few"))
    (here / "few").write_text("user1\n")
    make(here, out)
    assert leakscope.verify(out)[0].is_damaged is False


def wait_for_upload(make, at, out):
    """Let a command finish an output that its server does not take; the command's name."""
    with pytest.raises(LeakscopeError, match=r"made/.* cannot be read or written"):
        make(at, out)
    state = Mirror(address_of(out)).state()
    assert state.phase == "made"
    return state.command


def test_one_that_was_killed_before_that_was_noted_waits_too(
    local, here, other, remote, monkeypatch
):
    """It is finished as its folder tells, and only its inputs of then are noted."""
    out = f"{remote}/made"

    def killed(output, progress):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("leakscope.storage.output.RemoteOutput.finish", killed)
        leakscope.corpus.build(here / "rows.jsonl", out)
    fill(here, other, "rows.jsonl")
    with pytest.raises(LeakscopeError, match=r"made from other contents of inputs"):
        leakscope.corpus.build(here / "rows.jsonl", out)
    fill(here, local, "rows.jsonl")
    leakscope.corpus.build(here / "rows.jsonl", out)


def test_what_is_made_again_anyway_is_made_of_what_is_there(local, here, server, remote, wire):
    """Little work, of which nothing is kept."""
    out = f"{remote}/made"
    fill(here, local, "run")

    def make(at, out):
        leakscope.person(at / "run", out, user="user1")

    wait_for_upload(make, here, out)
    shutil.rmtree(here / "run")
    leakscope.report(here / "model", here / "corpus", here / "run", **{**ASKED, "top_k": 5})
    wire.lead_to(server)
    make(here, out)
    make(here, here / "ada")
    made = files_of(server.files / remote.rpartition("/")[2] / "made")
    assert made["person.csv"] == (here / "ada" / "person.csv").read_bytes()


def test_replaced_objects_are_refused(local, other, uploaded, server, remote, wire):
    """Also one without a seal that is as long as before."""
    out = f"{remote}/made"

    def make(at, out):
        leakscope.corpus.build(f"{at}/rows.jsonl", out)

    wait_for_upload(make, remote, out)
    put({"rows.jsonl": (other / "rows.jsonl").read_bytes()}, uploaded)
    wire.lead_to(server)
    with pytest.raises(LeakscopeError, match=r"made from other contents of inputs"):
        make(remote, out)
    assert not (uploaded / "made").exists()
    put({"rows.jsonl": (local / "rows.jsonl").read_bytes()}, uploaded)
    make(remote, out)
    assert (uploaded / "made" / "manifest.json").is_file()


def test_paths_are_those_of_the_folder_that_a_command_is_given_in(
    local, other, server, remote, wire, monkeypatch
):
    out = f"{remote}/made"

    def make(at, out):
        monkeypatch.chdir(at)
        leakscope.corpus.build("rows.jsonl", out)

    wait_for_upload(make, local, out)
    wire.lead_to(server)
    with pytest.raises(LeakscopeError, match=r"made from other contents of inputs"):
        make(other, out)
    make(local, out)


def test_a_causal_model_is_known_by_what_decides_its_answers(local, server, remote, wire, tmp_path):
    """Not by what lies beside that."""
    saved(tmp_path / "net", kind="gpt2", tokens="bytes")
    saved(tmp_path / "other", kind="gpt2", tokens="bytes", seed=5)
    first = (tmp_path / "net" / "model.safetensors").read_bytes()
    out = f"{remote}/made"

    def make(at, out):
        leakscope.report(at / "net", local / "corpus", out, trained_on="all", **ASKED)

    wait_for_upload(make, tmp_path, out)
    wire.lead_to(server)
    fill(tmp_path / "net", tmp_path / "other", "model.safetensors")
    with pytest.raises(LeakscopeError, match=r"made from other contents of model;"):
        make(tmp_path, out)
    (tmp_path / "net" / "model.safetensors").write_bytes(first)
    (tmp_path / "net" / "README.md").write_text("later")
    make(tmp_path, out)


def test_an_artifact_is_known_by_its_seals(here):
    """Little of it is read, and what commands add beside it is no part of it."""
    told = {name: [here / name] for name in ("model", "corpus")}
    known = contents_of(told, NOTHING)
    for file in (here / "corpus" / "shards").iterdir():
        file.write_bytes(b"")  # whoever reads it says so
    (here / "model" / "public").mkdir()
    (here / "model" / "public" / "folds.json").write_text("{}")
    (here / "model" / ".work").write_text("")
    assert contents_of(told, NOTHING) == known
    (here / "model" / "later.json").write_text("{}")
    assert contents_of(told, NOTHING)["model"] != known["model"]


def test_a_pipe_is_never_read_and_never_the_same(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        told = {"users": [tmp_path / name]}
        assert contents_of(told, NOTHING) != contents_of(told, NOTHING)
    assert contents_of({"users": [tmp_path / "none"]}, NOTHING)
