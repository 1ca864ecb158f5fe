"""A cluster that is started here: only this user can enter it, and it goes when it should."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cluster_stages import Squares
from leakscope.engine.cluster.ray_engine import RayEngine
from leakscope.records.errors import LeakscopeError
from ray_clusters import STAGES, listening, own_scratch, processes_with

KEYS = [f"key{i}" for i in range(6)]
LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F")
DASHBOARD = f"{8265:04X}"
CLIENT = """
import sys, traceback, ray
try:
    ray.init(address=sys.argv[1], configure_logging=False, log_to_driver=False)
except ConnectionError as error:
    sys.exit("refused" if "ray.exceptions.AuthenticationError" in traceback.format_exc() else "?")
print("entered", ray.get(ray.remote(lambda: 40 + 2).remote()))
"""
DRIVER = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell ignores it
from pathlib import Path
from cluster_stages import Squares
from leakscope.engine.cluster.ray_engine import RayEngine

def progress(stage, done, total=None, note=""):
    print(done, flush=True)

if __name__ == "__main__":
    with RayEngine(workers=2) as engine:
        stage = Squares(Path(sys.argv[1]), loads_model=sys.argv[3] == "model", seconds=0.3)
        engine.map(stage, [f"key{i}" for i in range(200)], Path(sys.argv[2]), progress=progress)
"""


@pytest.fixture
def places(tmp_path, monkeypatch):
    path = os.pathsep.join([STAGES, *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)
    for name in ("notes", "out"):
        (tmp_path / name).mkdir()
    return tmp_path / "notes", tmp_path / "out"


def test_it_is_private_while_it_runs_and_leaves_nothing(places):
    notes, out = places
    before, handler = dict(os.environ), signal.getsignal(signal.SIGTERM)
    group = os.getpgrp()
    with RayEngine(workers=2) as engine:
        engine.map(Squares(notes), KEYS, out)
        token = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
        assert stat.S_IMODE(token.stat().st_mode) == 0o600
        assert stat.S_IMODE(token.parent.stat().st_mode) == 0o700
        started = processes_with(str(token))
        assert any("raylet" in name for name in started.values())
        # What the terminal sends to this process reaches it still, and nothing of the cluster.
        assert os.getpgrp() == group and os.getsid(0) not in map(os.getsid, started)
        doors = listening([*started, os.getpid()])
        assert len(doors) >= 5
        assert [door for door in doors if door.split(":")[0] not in LOOPBACK] == []
        assert [door for door in doors if door.split(":")[1] == DASHBOARD] == []
        import ray

        address = ray.get_runtime_context().gcs_address
        assert ray._private.worker.global_worker.node.webui_url in (None, "")
        refused = clients(address, token)
    assert refused == [("refused", 1)] * 3 + [("entered 42", 0)]
    assert processes_with(str(token)) == {} and not token.parent.exists()
    assert dict(os.environ) == before
    assert signal.getsignal(signal.SIGTERM) is handler


def clients(address, token):
    """What happens to those without a token, with token authentication off, with another token, and
    with the right one.
    """
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    plain |= {"HOME": str(token.parent / "nobody"), "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    plain |= {"RAY_NUM_REDIS_GET_RETRIES": "2"}  # do not knock for long
    kinds = [
        {},
        {"RAY_AUTH_MODE": "disabled"},
        {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64},
        {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token.read_text()},
    ]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", CLIENT, address], env=plain | kind, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for kind in kinds
    ]  # fmt: skip
    said = [process.communicate(timeout=120) for process in started]
    return [
        ((out + err).strip().splitlines()[-1], process.returncode)
        for process, (out, err) in zip(started, said, strict=True)
    ]


def test_none_is_started_where_nothing_is_due(places):
    notes, out = places
    (out / "squares-key0.parquet").write_text("kept")
    with RayEngine(workers=2) as engine:
        assert engine.map(Squares(notes), KEYS[:1], out)[0].read_text() == "kept"
        assert "RAY_AUTH_TOKEN_PATH" not in os.environ


def test_nodes_must_read_what_is_needed_and_run_nothing_else(places, tmp_path, monkeypatch):
    _, out = places
    for name in ("numpy", "pyarrow", "leakscope", "cluster_stages"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this must not be run')")
    monkeypatch.chdir(tmp_path)
    missing, stage = Path("corpus"), Squares(Path("notes"))
    with RayEngine(needs=[missing]) as engine:
        with pytest.raises(LeakscopeError, match=f"cannot read {tmp_path / missing}; put it at"):
            engine.map(stage, KEYS, out)
        assert list(Path("notes").iterdir()) == []
        missing.mkdir()
        assert engine.map(stage, KEYS, out)[5].read_text() == "25"  # on a second cluster


def driver(places, model):
    command = [sys.executable, "-c", DRIVER, *map(str, places), model]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def until(process, done):
    for line in process.stdout:
        if int(line) >= done:
            break
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    environ = Path(f"/proc/{children[0]}/environ").read_text().split("\0")
    return next(each for each in environ if each.startswith("RAY_AUTH_TOKEN_PATH="))


@pytest.mark.parametrize("model", ["model", pytest.param("none", marks=pytest.mark.slow)])
def test_ctrl_c_keeps_what_is_done_and_stops_what_was_started(places, model):
    process = driver(places, model)
    token = until(process, 4)
    assert processes_with(token)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in said and process.returncode != 0
    assert processes_with(token) == {} and not Path(token.partition("=")[2]).parent.exists()
    made = {path.name: path.read_text() for path in places[1].glob("*.parquet")}
    assert 4 <= len(made) < 200
    assert not [path for path in places[1].iterdir() if path.name.startswith(".")]
    for index in range(200):
        assert made.get(f"squares-key{index}.parquet") in (None, str(index * index))


@pytest.mark.parametrize(
    "after", [4.0, *[pytest.param(each, marks=pytest.mark.slow) for each in (0.0, 1.0, 2.0, 6.0)]]
)
def test_sigterm_leaves_nothing_while_it_starts(places, after):
    process = driver(places, "model")
    folder = own_scratch(process)
    time.sleep(after)
    os.killpg(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (143, "")
    assert processes_with(str(folder)) == {} and not folder.exists()


@pytest.mark.parametrize("model", ["none", pytest.param("model", marks=pytest.mark.slow)])
def test_sigterm_in_the_middle_leaves_nothing(places, model):
    process = driver(places, model)
    token = until(process, 4)
    time.sleep(0.4)  # into Ray's compiled part, which makes another exit of this one
    os.killpg(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (143, "")
    assert processes_with(token) == {} and not Path(token.partition("=")[2]).parent.exists()


@pytest.mark.slow
def test_it_ends_with_a_killed_driver(places):
    process = driver(places, "none")
    token = until(process, 2)
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 10
    while processes_with(token) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_with(token) == {}
    assert not Path(token.partition("=")[2]).parent.exists()
