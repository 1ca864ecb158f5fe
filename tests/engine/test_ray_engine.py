"""Stages on a real Ray cluster: the local engine's files, whatever dies on the way."""

import os

import numpy as np
import pytest

from cluster_stages import Squares
from leakscope.engine.cluster.ray_engine import RayEngine
from leakscope.engine.local_engine import LocalEngine
from leakscope.engine.shard_queue import TRIES
from leakscope.records.errors import LeakscopeError
from ray_clusters import cluster_of, node_without

KEYS = [f"key{i}" for i in range(8)]


@pytest.fixture(scope="module")
def cluster():
    with cluster_of(num_cpus=2) as made:
        yield made


@pytest.fixture(scope="module")
def engine(cluster):
    with RayEngine(cluster.address) as made:
        yield made


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def squares_by(engine, stage, folder, keys=KEYS, **more):
    folder.mkdir(exist_ok=True)
    paths = engine.map(stage, keys, folder, **more)
    assert [path.name for path in paths] == [f"squares-{key}.parquet" for key in keys]
    return contents(folder)


def attempts(notes, index):
    return len(list(notes.glob(f"shard{index}-*")))


@pytest.mark.parametrize("loads_model", [False, True])
def test_files_and_progress_are_the_local_engines(engine, tmp_path, notes, loads_model):
    stage = Squares(notes, loads_model)
    told = {name: [] for name in ("here", "there")}
    made = {}
    for name, by in (("here", LocalEngine()), ("there", engine)):
        progress = lambda *_, seen=told[name]: seen.append(_)  # noqa: E731
        made[name] = squares_by(by, stage, tmp_path / name, sizes=[5] * 8, progress=progress)
    assert made["there"] == made["here"] and len(made["here"]) == 16  # seals came along
    assert told["there"] == told["here"]
    assert all((path.stat().st_mode & 0o777) == 0o600 for path in (tmp_path / "there").iterdir())


def test_a_stage_starts_once_a_process(engine, tmp_path, notes):
    squares_by(engine, Squares(notes, loads_model=True), tmp_path / "out")
    assert 1 <= len(list(notes.glob("start-*"))) <= 2  # cores


def test_what_is_done_is_not_done_again(engine, tmp_path, notes):
    out = tmp_path / "out"
    out.mkdir()
    (out / "squares-key2.parquet").write_text("kept")
    made = squares_by(engine, Squares(notes), out)
    assert made["squares-key2.parquet"] == b"kept" and attempts(notes, 2) == 0


def test_arrays_of_a_stage_are_shared_and_not_copied(engine, tmp_path, notes):
    table = np.arange(1_000_000) * 10
    made = squares_by(engine, Squares(notes, table=table), tmp_path / "out")
    assert made["squares-key7.parquet"] == b"119"
    starts = [path.read_text() for path in notes.glob("start-*")]
    assert starts and "writable" not in starts  # as in the object store


@pytest.mark.parametrize("loads_model", [False, True])
def test_shards_of_killed_workers_are_done_again(engine, tmp_path, notes, loads_model):
    plain = squares_by(LocalEngine(), Squares(notes), tmp_path / "here")
    for note in notes.iterdir():
        note.unlink()
    stage = Squares(notes, loads_model, dies=(0, 1, 4, 7))
    assert squares_by(engine, stage, tmp_path / "there") == plain
    assert [attempts(notes, index) >= 2 for index in (0, 1, 4, 7)] == [True] * 4


@pytest.mark.parametrize("loads_model", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_shard_that_kills_every_worker_is_one_clear_error(engine, tmp_path, notes, loads_model):
    stage = Squares(notes, loads_model, dies_always=3)
    with pytest.raises(LeakscopeError, match=f"died {TRIES} times at the same shard in stage sq"):
        squares_by(engine, stage, tmp_path / "out")
    # A death may be laid to the shard before, if that one's output was still on its way.
    assert TRIES <= attempts(notes, 3) <= 4 * TRIES
    assert not (tmp_path / "out" / "squares-key3.parquet").exists()
    plain = squares_by(LocalEngine(), Squares(notes), tmp_path / "here")
    kept = len(list((tmp_path / "out").iterdir()))
    assert squares_by(engine, Squares(notes), tmp_path / "out") == plain and kept >= 2


def test_an_error_of_ours_comes_unchanged_and_at_once(engine, tmp_path, notes):
    with pytest.raises(LeakscopeError, match=r"^It cannot be squared\.$"):
        squares_by(engine, Squares(notes, fails=3), tmp_path / "out")
    assert attempts(notes, 3) == 1


def test_of_an_unexpected_error_nothing_is_told_but_where(engine, tmp_path, notes):
    with pytest.raises(LeakscopeError, match=r"Unexpected ValueError in cluster_stages") as caught:
        squares_by(engine, Squares(notes, breaks=3), tmp_path / "out")
    assert "zanthar" not in str(caught.value)


def test_an_error_of_the_system_is_told_as_such(engine, tmp_path, notes):
    notes.rmdir()
    with pytest.raises(FileNotFoundError):
        squares_by(engine, Squares(notes), tmp_path / "out")


def test_nodes_may_come_and_go(cluster, engine, tmp_path, notes):
    keys = [f"key{i}" for i in range(60)]
    plain = squares_by(LocalEngine(), Squares(notes), tmp_path / "here", keys)
    for note in notes.iterdir():
        note.unlink()
    nodes = []

    def progress(stage, done, total=None, note=""):
        if done == 1:
            nodes.append(cluster.add_node(num_cpus=2, **cluster.common))
        if len(nodes) == 1 and len(list(notes.glob("start-*"))) > 2:  # the new node works, too
            nodes.append(cluster.remove_node(nodes[0], allow_graceful=False))

    stage = Squares(notes, loads_model=True, seconds=0.4)
    assert squares_by(engine, stage, tmp_path / "there", keys, progress=progress) == plain
    assert len(nodes) == 2


@pytest.mark.slow
def test_a_node_that_does_not_see_the_folder(cluster, engine, tmp_path, notes):
    """As on clusters without a shared file system: this one has an empty folder in its place."""
    plain = squares_by(LocalEngine(), Squares(notes), tmp_path / "here")
    shared = Squares(notes, reads_outputs=True)
    assert squares_by(engine, shared, tmp_path / "seen") == plain
    assert own_starts(notes) == 1  # only the local engine's: every node sees the folder
    with node_without(cluster, tmp_path):
        assert squares_by(engine, shared, tmp_path / "unseen") == plain
        assert own_starts(notes) == 2
        with (
            RayEngine(cluster.address, needs=[notes]) as other,
            pytest.raises(LeakscopeError, match=f"of the cluster cannot read {notes}"),
        ):
            engine.close()
            squares_by(other, Squares(notes), tmp_path / "refused")
    assert list((tmp_path / "refused").iterdir()) == []


def own_starts(notes):
    return len(list(notes.glob(f"start-{os.getpid()}-*")))


def test_a_worker_that_fits_nowhere_is_one_clear_error(
    cluster, engine, tmp_path, notes, monkeypatch
):
    monkeypatch.setattr("leakscope.engine.cluster.ray_workers.PATIENCE", 0.5)
    engine._cores = 64
    try:
        with pytest.raises(LeakscopeError, match="No node of the cluster has 64 CPU for a worker"):
            squares_by(engine, Squares(notes, loads_model=True), tmp_path / "out")
    finally:
        engine._cores = 1


def test_a_process_has_one_connection(cluster, engine, tmp_path, notes):
    squares_by(engine, Squares(notes), tmp_path / "first")
    with RayEngine() as other, pytest.raises(LeakscopeError, match=r"call ray\.shutdown"):
        squares_by(other, Squares(notes), tmp_path / "second")
    squares_by(engine, Squares(notes), tmp_path / "third")
