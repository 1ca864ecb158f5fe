"""Reports with a public model and stand-ins on a cluster of two nodes: byte for byte those of the
local engine; and what is said where nodes do not share what they must.
"""

import os
import signal
from dataclasses import replace

import pytest

import leakscope
from leakscope.auditing.public_settings import CROSSFIT, PublicSettings
from leakscope.auditing.report_job import ReportJob
from leakscope.auditing.running_settings import RunningSettings
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.engine.progress import silent
from leakscope.leakage import pipeline
from leakscope.models.word.architecture import Architecture
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.training.loop import train
from leakscope.training.train_settings import TrainSettings
from ray_clusters import cluster_of, node_without, processes_with
from remote_artifacts import files_of, put
from s3_server import S3Server
from small_models import repeated_by, sharp_model

TABLES = (
    "sequences.parquet", "occurrences.parquet", "users.parquet", "validation.parquet",
    "metrics.json",
)  # fmt: skip
KINDS = {"public": {"public": CROSSFIT}, "stand-ins": {"stand_ins": CROSSFIT}}


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A report, the folder of its corpus and model, and where its runs go."""
    made, runs = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("runs")
    rows = repeated_by(sharp_model("gru", [f"w{i}" for i in range(12)], 3), 20, 300, 20)
    settings = BuildSettings(shard_words=1200, validation=0.2)
    corpus = build_rows((Row(user, text) for user, text in rows), made / "c", settings=settings)
    tiny = TrainSettings(Architecture("gru", 1, 8, 16), vocabulary=50, epochs=2, batch_size=8)
    train(corpus, made / "m", tiny)
    return ReportJob(corpus, ReportSettings(top_k=2, reveal=True)), made, runs


@pytest.fixture(autouse=True)
def pieces(monkeypatch):
    monkeypatch.setattr(pipeline, "PIECE_WORDS", 100)


@pytest.fixture(scope="module")
def cluster():
    """Two nodes, with one worker each."""
    with cluster_of(num_cpus=1) as made:
        made.add_node(num_cpus=1, **made.common)
        yield made


def tables_of(job, name, kind, running, progress=silent):
    asked, made, runs = job
    public = PublicSettings(folds=2, public_dir=runs / "public", **KINDS[kind])
    asked = replace(asked, running=running, public=public).prepared()
    asked.report(made / "m", runs / name, progress)
    return {table: (runs / name / table).read_bytes() for table in TABLES}


def killing(cluster, killed):
    """Progress that kills a worker that has a model, once in each stage that has one."""

    def progress(stage, done, total=None, note=""):
        if done and stage not in killed:
            names = processes_with(str(cluster.token))
            for pid in [pid for pid, name in names.items() if name.startswith("ray::_Actor")][:1]:
                os.kill(pid, signal.SIGKILL)
                killed[stage] = pid

    return progress


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kills", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_two_nodes_give_the_same_tables(cluster, job, kind, kills):
    name, killed = f"{kind}-{kills}", {}
    local = tables_of(job, f"{name}-here", kind, RunningSettings(threads=1))
    told = killing(cluster, killed) if kills else silent
    running = RunningSettings(engine="ray", address=cluster.address)
    assert tables_of(job, name, kind, running, told) == local
    assert bool(killed) == kills


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_public_models_need_a_folder_that_all_nodes_share(cluster, job, kind, tmp_path):
    """Those that are trained here; told before any is."""
    asked, made, _ = job
    folder = tmp_path / "public"
    running = RunningSettings(engine="ray", address=cluster.address)
    public = PublicSettings(folds=2, public_dir=folder, **KINDS[kind])
    asked = replace(asked, running=running, public=public).prepared()
    with node_without(cluster, tmp_path), pytest.raises(LeakscopeError) as refused:
        asked.report(made / "m", tmp_path / "run", silent)
    assert f"do not share {folder}" in str(refused.value)
    assert "--public-dir" in str(refused.value)
    assert not folder.exists()


@pytest.mark.slow
def test_urls_need_a_cache_that_all_nodes_share(cluster, job, tmp_path, monkeypatch):
    """A node reads the copy in the cache; it fetches none of its own."""
    _, made, runs = job
    with S3Server(tmp_path / "s3") as server:
        put(files_of(made), server.files / "made")
        for name, value in server.environment(tmp_path / "cache").items():
            monkeypatch.setenv(name, value)
        given = ("s3://bucket/made/m", "s3://bucket/made/c")
        options = {"engine": "ray", "address": cluster.address, "top_k": 2, "reveal": True}
        (tmp_path / "cache").mkdir()
        with node_without(cluster, tmp_path / "cache"), pytest.raises(LeakscopeError) as refused:
            leakscope.report(*given, "s3://bucket/refused", **options)
        assert "cannot read s3://bucket/made/c" in str(refused.value)
        assert "LEAKSCOPE_CACHE" in str(refused.value)
        leakscope.report(*given, "s3://bucket/run", **options)
        plain = {"top_k": 2, "reveal": True, "threads": 1}
        leakscope.report(made / "m", made / "c", runs / "plain", **plain)
        for table in TABLES[:-1]:
            there = server.files / "run" / table
            assert there.read_bytes() == (runs / "plain" / table).read_bytes(), table
