"""What a worker checks, promises and keeps to itself; here, in this process."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cluster_stages import Squares
from leakscope.engine import shard_worker
from leakscope.engine.cluster.ray_environment import for_existing_cluster
from leakscope.engine.shard_output import ShardOutput
from leakscope.engine.shard_worker import Failure, NodeNeeds, ShardOrder, make_output
from leakscope.records.errors import LeakscopeError


@pytest.fixture
def node(tmp_path, monkeypatch):
    """A node with a token, and what is needed of it."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shard_worker, "_started", {})
    (tmp_path / "corpus").mkdir()
    return NodeNeeds.of_this_process((Path("corpus"),))


def test_a_node_like_this_one_is_fit(node, monkeypatch):
    monkeypatch.chdir("/")  # paths begin where they began
    assert node.problem() is None


@pytest.mark.parametrize("mode", ["", "disabled", None])
def test_a_node_that_lets_in_anybody_is_not(node, monkeypatch, mode):
    monkeypatch.delenv("RAY_AUTH_MODE")
    if mode is not None:
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
    assert "lets in anybody; start the cluster with RAY_AUTH_MODE=token." in node.problem()


@pytest.mark.parametrize("package", ["leakscope", "torch", "numpy", "python"])
def test_a_node_with_another_version_is_not(node, package):
    other = replace(node, versions={**node.versions, package: "0.0.1"})
    assert f"has {package} {node.versions[package]}, not 0.0.1; install" in other.problem()


def test_a_node_that_cannot_read_a_path_is_not(node, tmp_path):
    (tmp_path / "corpus").rmdir()
    assert f"cannot read {tmp_path / 'corpus'}; put it at the same place" in node.problem()


def order(node, index, run="a"):
    return ShardOrder(run, index, f"squares-{index}.parquet", node)


def test_a_stage_starts_once_for_each_map(node, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    for run in ("a", "a", "b", "a"):
        made = make_output(order(node, 3, run), lambda: Squares(notes))
        assert isinstance(made, ShardOutput)
        assert [bytes(file.content) for file in made.files] == [b"sealed", b"9"]
    assert len(list(notes.glob("start-*"))) == 3  # one is kept, not all


def test_it_raises_nothing(node, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    stage = Squares(notes, fails=1, breaks=2)
    ours = make_output(order(node, 1, "x"), lambda: stage)
    assert isinstance(ours, Failure) and str(ours.error) == "It cannot be squared."
    odd = make_output(order(node, 2, "x"), lambda: stage)
    assert isinstance(odd, Failure) and "zanthar" not in str(odd.error) and not odd.again
    unfit = make_output(order(replace(node, paths=(Path("no"),)), 0, "y"), lambda: stage)
    assert isinstance(unfit, Failure) and "cannot read" in str(unfit.error)


def test_memory_may_suffice_elsewhere(node):
    def load():
        raise MemoryError

    found = make_output(order(node, 0), load)
    assert isinstance(found, Failure) and found.again


@pytest.mark.parametrize("content", [None, "", "  \n"])
def test_a_missing_token_is_one_clear_error(tmp_path, monkeypatch, content):
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(path))
    with (
        pytest.raises(LeakscopeError, match=f"There is no token for the cluster in {path};"),
        for_existing_cluster(),
    ):
        pass
    path.write_text("abc")
    before = dict(os.environ)
    with for_existing_cluster():
        assert os.environ["RAY_AUTH_MODE"] == "token"
    assert dict(os.environ) == before
