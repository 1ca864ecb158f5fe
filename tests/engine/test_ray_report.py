"""Whole reports on Ray: byte for byte those of the local engine, whatever dies on the way."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from leakscope.auditing.report_job import ReportJob
from leakscope.auditing.running_settings import RunningSettings
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.engine.progress import silent
from leakscope.leakage import pipeline
from leakscope.models.word.architecture import Architecture
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.training.loop import train
from leakscope.training.train_settings import TrainSettings
from ray_clusters import cluster_of, own_scratch, processes_with
from small_models import repeated_by, sharp_model

TABLES = (
    "sequences.parquet", "occurrences.parquet", "users.parquet", "validation.parquet",
    "metrics.json",
)  # fmt: skip
WORDS = [f"w{i}" for i in range(12)]


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A report, and where its model is; the corpus has 300 documents in 5 shards."""
    folder = tmp_path_factory.mktemp("report")
    rows = repeated_by(sharp_model("gru", WORDS, 3), 20, 300, 20)
    settings = BuildSettings(shard_words=1200, validation=0.2)
    corpus = build_rows((Row(user, text) for user, text in rows), folder / "c", settings=settings)
    tiny = TrainSettings(Architecture("gru", 1, 8, 16), vocabulary=50, epochs=2, batch_size=8)
    train(corpus, folder / "m", tiny)
    asked = ReportSettings(top_k=2, reveal=True)
    return ReportJob(corpus, asked), folder / "m", folder


@pytest.fixture(scope="module")
def local(job):
    """The tables of the local engine, in pieces of 100 words."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pipeline, "PIECE_WORDS", 100)
        yield tables_of(job, "local", RunningSettings(threads=1))


@pytest.fixture(autouse=True)
def pieces(monkeypatch):
    monkeypatch.setattr(pipeline, "PIECE_WORDS", 100)


def tables_of(job, name, running, progress=silent):
    asked, model, folder = job
    replace(asked, running=running).prepared().report(model, folder / name, progress)
    return {table: (folder / name / table).read_bytes() for table in TABLES}


def test_a_cluster_that_is_started_here_gives_the_same_tables(job, local, capfd):
    told = []
    running = RunningSettings(engine="ray", workers=2)
    assert tables_of(job, "ray", running, lambda *said: told.append(said)) == local
    scored = [done for stage, done, *_ in told if stage == "score"]
    assert scored == sorted(scored) and scored[-1] == job[0].corpus.manifest.train.words
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("after", "times"),
    [
        (1.0, 1),
        (3.0, 2),
        *[
            pytest.param(after, times, marks=pytest.mark.slow)
            for after in (0.0, 2.0, 4.0, 5.0, 6.0, 8.0)
            for times in (1, 2)
        ],
    ],
)
def test_ctrl_c_leaves_nothing_of_a_cluster_that_is_started_here(job, tmp_path, after, times):
    _, model, folder = job
    options = ["--out", tmp_path / "run", "--engine", "ray", "--workers", "2", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "leakscope", "report", *map(str, [model, folder / "c", *options])],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        # A shell's background job ignores the signal, and so would this child of it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )  # fmt: skip
    scratch = own_scratch(process)
    time.sleep(after)
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all processes get it
        time.sleep(0.3)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.startswith("leakscope: Interrupted; ") and len(said.splitlines()) == 1
    assert processes_with(str(scratch)) == {} and not scratch.exists()


@pytest.fixture(scope="module")
def cluster():
    with cluster_of(num_cpus=2) as made:
        yield made


def at_pieces(then):
    """Progress that calls `then` when a piece of the first stage is done."""
    state = {"pieces": 0}

    def progress(stage, done, total=None, note=""):
        if stage == "score" and done:
            state["pieces"] += 1
            then(state["pieces"])

    return progress


@pytest.mark.slow
def test_ten_killed_workers_change_nothing(cluster, job, local):
    killed = []

    def kill(piece):
        if len(killed) < min(10, piece // 3):
            names = processes_with(str(cluster.token))
            workers = [pid for pid, name in names.items() if name.startswith("ray::_Actor")]
            for pid in workers[:1]:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    running = RunningSettings(engine="ray", address=cluster.address)
    assert tables_of(job, "killed", running, at_pieces(kill)) == local
    assert len(set(killed)) == 10


@pytest.mark.slow
def test_a_node_that_goes_changes_nothing(cluster, job, local):
    node = cluster.add_node(num_cpus=2, **cluster.common)
    gone = []

    def actors():
        names = processes_with(str(cluster.token)).values()
        return len([name for name in names if name.startswith("ray::_Actor")])

    def change(piece):
        if piece == 3:
            deadline = time.monotonic() + 120
            while actors() < 4:  # two on each node
                assert time.monotonic() < deadline
                time.sleep(0.2)
        if piece == 12:
            gone.append(cluster.remove_node(node, allow_graceful=False))

    running = RunningSettings(engine="ray", address=cluster.address)
    assert tables_of(job, "nodes", running, at_pieces(change)) == local
    assert len(gone) == 1
