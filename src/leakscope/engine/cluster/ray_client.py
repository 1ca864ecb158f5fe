"""What the engine asks of Ray. No other file imports Ray, and this one only when it is needed, with
the right variables set.
"""

import ipaddress
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any

from leakscope.engine.cluster.head_process import head_process
from leakscope.engine.cluster.held_signals import reclaim_sigterm
from leakscope.engine.cluster.ray_environment import for_existing_cluster, for_own_cluster
from leakscope.records.errors import LeakscopeError

_ANSWER = 10.0
"""Seconds to wait for a cluster."""


def start_head(folder: Path, cores: int) -> str:
    """The head of a cluster of this machine alone, in this process, which is there for nothing
    else; its files are in `folder`. Where it is, HOST:PORT.
    """
    from ray._private import ray_constants
    from ray._private.node import Node
    from ray._private.parameter import RayParams

    vars(ray_constants).update(ENABLE_RAY_CLUSTER=False)
    asked = RayParams(
        num_cpus=cores,
        include_dashboard=False,
        temp_dir=str(folder / "ray"),  # which Ray opens to everybody, but not `folder`
        node_ip_address="127.0.0.1",
        _system_config={"worker_niceness": 0},  # as the local engine's
    )
    return str(Node(asked, head=True, shutdown_at_exit=False, ray_init_cluster=True).gcs_address)


@contextmanager
def started_cluster(folder: Path, cores: int, given_up: Callable[[], bool]) -> Iterator[None]:
    """A cluster of this machine alone, whose files are in `folder`; stopped at the end. It is not
    waited for any more when it is given up.
    """
    with (
        for_own_cluster(folder),
        head_process(folder, cores) as head,
        _connection(ENABLE_RAY_CLUSTER=False) as ray,
    ):
        address = head.address(given_up)
        if not ipaddress.ip_address(address.rpartition(":")[0]).is_loopback:
            raise LeakscopeError("Ray would listen to other machines; try --engine local.")
        try:
            _init(ray, folder, address=address, _node_ip_address="127.0.0.1")
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise LeakscopeError(
                f"Ray could not be started here ({type(error).__name__}); try --engine local."
            ) from error
        yield


@contextmanager
def joined_cluster(address: str, folder: Path) -> Iterator[None]:
    """A cluster that exists, and goes on to exist; `folder` is empty."""
    with for_existing_cluster(), _connection(NUM_REDIS_GET_RETRIES=5) as ray:
        host, _, port = address.rpartition(":")
        try:
            # Where nobody listens, Ray would try for many minutes.
            socket.create_connection((host, int(port)), timeout=_ANSWER).close()
            _init(ray, folder, address=address)
        except (OSError, RuntimeError, ValueError, OverflowError, ray.exceptions.RayError) as error:
            raise LeakscopeError(
                f"The cluster at {address} does not answer or refuses your token; run leakscope on "
                f"one of its nodes, with its token, and with the same versions of Python and Ray."
            ) from error
        yield


@contextmanager
def _connection(**constants: int) -> Iterator[Any]:
    """Ray, ready to connect, with these constants for the time; disconnected at the end."""
    import ray
    from ray._private import ray_constants, utils, worker

    if ray.is_initialized():
        raise LeakscopeError(
            "This process is connected to a Ray cluster already; call ray.shutdown() first."
        )
    # Ray reads variables when it is imported, and the token once: maybe before they were set.
    ray._raylet.Config.initialize("")
    ray._raylet.AuthenticationTokenLoader.instance().reset_cache()
    with (
        _changed(ray_constants, RAY_ENABLE_UV_RUN_RUNTIME_ENV=False, **constants),
        # What the cluster has to say of dead workers would go to standard output, logging or not.
        _changed(worker, print_to_stdstream=lambda *_, **__: None),
        _changed(utils, set_sigterm_handler=lambda _: None),
    ):
        try:
            yield ray
        finally:
            ray.shutdown()
            reclaim_sigterm()


@contextmanager
def _changed(module: Any, **values: Any) -> Iterator[None]:
    before = {name: getattr(module, name) for name in values}
    vars(module).update(values)
    try:
        yield
    finally:
        vars(module).update(before)


def _init(ray: Any, folder: Path, **options: Any) -> None:
    """Connect, from an empty folder: workers import from wherever this process is, and a file in
    the user's directory must not be taken for a module.
    """
    with chdir(folder), _without_stderr():
        ray.init(configure_logging=False, log_to_driver=False, **options)
    reclaim_sigterm()


@contextmanager
def _without_stderr() -> Iterator[None]:
    """While it connects, the compiled part of Ray writes there, whatever it is told."""
    before, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)


def nodes() -> dict[str, Mapping[str, float]]:
    """What each node has that is alive, by its id."""
    import ray

    return {node["NodeID"]: node["Resources"] for node in ray.nodes() if node["Alive"]}


def ask_nodes(question: Callable[..., Any], *told: object, timeout: float) -> list[Any]:
    """What a function says on every node; a node that is gone, or too slow, says nothing."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as Affinity

    task = ray.remote(num_cpus=0, max_retries=0)(question)
    asked = [
        task.options(scheduling_strategy=Affinity(node, soft=False)).remote(*told)
        for node in nodes()
    ]
    answered, _ = ray.wait(asked, num_returns=len(asked), timeout=timeout)
    return [outcome(reference) for reference in answered]


def share(value: object) -> list[Any]:
    """Put a value where all workers find it by `shared`; its arrays, once a node. The reference
    comes in a list, so that Ray does not fetch the value anew for every task.
    """
    import ray

    return [ray.put(value)]


def shared(place: list[Any]) -> Any:
    """On a worker: the value."""
    import ray

    return ray.get(place[0])


def remote(work: Any, request: Mapping[str, float], **options: int) -> Any:
    """A function or class that runs on workers with these resources."""
    import ray

    needs = {"num_cpus": request["CPU"], "num_gpus": request.get("GPU", 0)}
    return ray.remote(**needs, **options)(work)


def ready(references: Iterable[Any], seconds: float) -> list[Any]:
    """Those whose work has ended, after so many seconds at the latest."""
    import ray

    found: list[Any] = ray.wait(list(references), timeout=seconds)[0]
    return found


def outcome(reference: Any) -> Any:
    """What a worker sent; None if it died, or its node."""
    import ray

    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:  # ours raise nothing
        raise LeakscopeError(
            f"A node of the cluster cannot run leakscope ({type(error.cause).__name__}); install "
            f"the same version of it on all nodes."
        ) from error
    except ray.exceptions.RayError:
        return None


def end_actor(actor: Any) -> None:
    """Kill it, wherever it is."""
    import ray

    ray.kill(actor)
