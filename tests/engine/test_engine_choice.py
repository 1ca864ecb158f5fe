"""Which engine a report asks for, and what is told to those who ask for what cannot be."""

import os
import subprocess
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

import leakscope
from cluster_stages import Squares
from leakscope.auditing.public_settings import PublicSettings
from leakscope.auditing.report_job import ReportJob
from leakscope.auditing.running_settings import RunningSettings
from leakscope.engine.cluster.ray_engine import RayEngine
from leakscope.models.remote.endpoint import Endpoint, RequestLimits
from leakscope.records.errors import LeakscopeError


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"address": "127.0.0.1:6379"}, "give --engine ray too"),
        ({"cores": 2}, "give --engine ray too"),
        ({"engine": "ray", "cores": 0}, "--cores must be at least 1"),
        ({"engine": "ray", "address": "127.0.0.1:6379", "workers": 2}, "leave out --workers"),
    ],
)
def test_settings_that_contradict_each_other(given, says):
    with pytest.raises(LeakscopeError, match=says):
        RunningSettings(**given)


def test_threads_of_a_worker():
    assert RunningSettings(threads=8, workers=3).threads_of_worker == 2
    assert RunningSettings(threads=1, workers=3).threads_of_worker == 1
    assert RunningSettings(engine="ray", cores=4).threads_of_worker == 4


def test_an_endpoint_is_not_asked_by_a_cluster(make_corpus, tmp_path):
    job = ReportJob(make_corpus([("u", "a b c")]), running=RunningSettings(engine="ray"))
    endpoint = Endpoint("http://127.0.0.1:9/v1", "m")
    with pytest.raises(LeakscopeError, match="asked from this machine; leave out --engine"):
        job.report_endpoint(endpoint, RequestLimits(), None, tmp_path / "r", lambda *_: None)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("address", ["ray://127.0.0.1:10001", "127.0.0.1", "auto", "", "a:b"])
def test_an_address_of_another_kind(make_corpus, tmp_path, address):
    running = RunningSettings(engine="ray", address=address)
    job = ReportJob(make_corpus([("u", "a b c")]), running=running)
    with pytest.raises(LeakscopeError, match=r"is not the address of a cluster; give HOST:PORT\."):
        job._engine(tmp_path)


def test_nodes_must_have_the_models_that_judge(make_corpus, tmp_path):
    corpus = make_corpus([("u", "a b c")])
    public = PublicSettings(public=str(tmp_path / "p"), stand_ins=str(tmp_path / "s"))
    job = ReportJob(corpus, public=public, running=RunningSettings(engine="ray"))
    wanted = (corpus.path, tmp_path / "m", tmp_path / "p", tmp_path / "s")
    assert job._engine(tmp_path / "m")._needs.paths == wanted
    trained = replace(job, public=PublicSettings(public="crossfit", stand_ins="crossfit"))
    assert trained._engine(tmp_path / "m")._needs.paths == wanted[:2]


@pytest.mark.parametrize("address", ["127.0.0.1:9", "127.0.0.1:99999", "no such host:6379"])
def test_an_address_where_nobody_answers(tmp_path, monkeypatch, address):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "token")
    (tmp_path / "notes").mkdir()
    with RayEngine(address) as engine, pytest.raises(LeakscopeError, match="does not answer or"):
        engine.map(Squares(tmp_path / "notes"), ["a"], tmp_path)


def test_without_ray_there_is_one_clear_error(tmp_path):
    """In an environment that has everything else."""
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(("ray", "__editable__")):
            (tmp_path / path.name).symlink_to(path)
    code = (
        "from leakscope.engine.cluster.ray_engine import RayEngine\n"
        "from leakscope.records.errors import LeakscopeError\n"
        "try:\n"
        "    RayEngine()\n"
        "except LeakscopeError as error:\n"
        "    print(error)\n"
    )
    source = Path(leakscope.__file__).parents[1]
    ran = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{source}"},
    )  # fmt: skip
    assert ran.stdout == "Ray is not installed; get it by pip install 'leakscope[ray]'.\n"


def test_ray_is_imported_only_by_a_cluster():
    code = "import sys, leakscope.auditing.report_job; sys.exit('ray' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
