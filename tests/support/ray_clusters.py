"""Real Ray clusters of several nodes, all of them on this machine, and their processes."""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

STAGES = str(Path(__file__).parent)
"""Where workers find the stages of tests."""


@contextmanager
def cluster_of(**head: Any) -> Iterator[Any]:
    """A cluster that lets in whoever has the token that the variables of this process name, and
    listens on loopback; `cluster.add_node(num_cpus=2)` gives it more nodes.
    """
    folder = Path(tempfile.mkdtemp(prefix="ls-test-", dir="/tmp"))
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(secrets.token_hex(32))
    path = os.pathsep.join([STAGES, *filter(None, [os.environ.get("PYTHONPATH")])])
    changed = {
        "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "PYTHONPATH": path,
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0", "RAY_TMPDIR": str(folder),
    }  # fmt: skip
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    import ray
    from ray._private import ray_constants
    from ray.cluster_utils import Cluster

    loopback = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    ray._raylet.Config.initialize("")
    ray._raylet.AuthenticationTokenLoader.instance().reset_cache()
    common = {"temp_dir": str(folder / "ray"), "node_ip_address": "127.0.0.1"}
    cluster = Cluster(True, head_node_args={"include_dashboard": False, **common, **head})
    cluster.token, cluster.common = token, {"node_ip_address": "127.0.0.1"}
    try:
        yield cluster
    finally:
        cluster.shutdown()
        ray_constants.ENABLE_RAY_CLUSTER = loopback
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        shutil.rmtree(folder, ignore_errors=True)


JOIN = """
import sys, time
from ray._private.node import Node
from ray._private.parameter import RayParams
params = RayParams(
    gcs_address=sys.argv[1], node_ip_address="127.0.0.1", num_cpus=1, node_manager_port=0,
    object_store_memory=10**8, min_worker_port=0, max_worker_port=0, include_log_monitor=False,
)
Node(params, head=False, shutdown_at_exit=True, spawn_reaper=True)
time.sleep(600)
"""


@contextmanager
def node_without(cluster: Any, folder: Path) -> Iterator[None]:
    """One more node of the cluster, on which this folder is empty."""
    start = ['mount -t tmpfs none $0 && exec $1 -c "$2" $3', folder, sys.executable, JOIN]
    before = len(cluster.global_state._live_node_ids())
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", *map(str, start), cluster.address]
    )
    while len(cluster.global_state._live_node_ids()) == before:
        assert process.poll() is None
        time.sleep(0.2)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def processes_with(text: str) -> dict[int, str]:
    """Names of the processes that have this text in their environment."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (path / "environ").read_bytes():
                name = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
                found[int(path.name)] = name
        except (OSError, ProcessLookupError):
            continue
    return {pid: name for pid, name in found.items() if name}


def own_scratch(process: "subprocess.Popen[str]") -> Path:
    """The folder of the cluster that this process starts, as soon as there is one."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for handle in Path(f"/proc/{process.pid}/fd").glob("*"):
            with suppress(OSError):
                if handle.readlink().name.startswith("ls-ray-"):
                    return handle.readlink()
        time.sleep(0.01)
    raise AssertionError("It starts no cluster.")


def listening(pids: Any) -> set[str]:
    """Where these processes listen, as the kernel writes addresses: hexadecimal IP:PORT."""
    sockets = set()
    for pid in pids:
        for handle in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                sockets.add(str(handle.readlink()))
            except OSError:
                continue
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == "0A" and f"socket:[{parts[9]}]" in sockets:
                found.add(parts[1])
    return found
