"""What a worker of a cluster does: look whether its node is fit, start a stage once, and make the
output of one shard after another. It promises to raise nothing but what ends the process, so that
the cluster's logs, which may be kept elsewhere, hold no message of ours.
"""

import os
import platform
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from leakscope.engine.private_scratch import private_scratch
from leakscope.engine.shard_output import ShardOutput
from leakscope.engine.stages import Stage, Work
from leakscope.records.errors import LeakscopeError

_PACKAGES = (
    "leakscope",
    "numpy",
    "pyarrow",
    "torch",
    "transformers",
    "tokenizers",
    "peft",
    "gguf",
)
"""Those that decide the numbers."""


@dataclass(frozen=True)
class NodeNeeds:
    """What every node must have."""

    folder: Path
    """Where relative paths begin."""
    paths: tuple[Path, ...]
    """What must be readable."""
    versions: dict[str, str | None]

    @classmethod
    def of_this_process(cls, paths: tuple[Path, ...]) -> "NodeNeeds":
        """What is so here must be so there."""
        return cls(Path.cwd(), paths, _versions())

    def problem(self) -> str | None:
        """What this node lacks, as one sentence; None: nothing."""
        node = platform.node()
        if os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
            return (
                f"Node {node} of the cluster lets in anybody; start the cluster with "
                f"RAY_AUTH_MODE=token."
            )
        for name, found in _versions().items():
            if found != self.versions[name]:
                return (
                    f"Node {node} of the cluster has {name} {found}, not {self.versions[name]}; "
                    f"install the same versions on all nodes."
                )
        for path in self.paths:
            if not os.access(self.folder / path, os.R_OK):
                return (
                    f"Node {node} of the cluster cannot read {self.folder / path}; put it at the "
                    f"same place on all nodes, or on a file system that they share (what comes "
                    f"from a URL: by LEAKSCOPE_CACHE)."
                )
        return None


@dataclass(frozen=True)
class ShardOrder:
    """One shard to work on."""

    run: str
    """Names the map that it belongs to, once and for all."""
    index: int
    name: str
    """The name of the output file."""
    needs: NodeNeeds


@dataclass(frozen=True)
class Failure:
    """Why there is no output."""

    error: LeakscopeError | OSError
    again: bool = False
    """Whether another worker may do better."""


_started: dict[str, Work] = {}  # of this process: one, that of the last map


def make_output(order: ShardOrder, stage: Callable[[], Stage]) -> ShardOutput | Failure:
    """The output for a shard, made in a private directory that is gone afterwards."""
    try:
        work = _work(order, stage)
        with private_scratch("ls-shard") as folder:
            target = folder / order.name
            work(order.index, target)
            return ShardOutput.gather(target)
    except (LeakscopeError, OSError) as error:
        return Failure(error)
    except MemoryError:
        return Failure(LeakscopeError("A worker ran out of memory."), again=True)
    except Exception as error:
        return Failure(_unexpected(error))


def _work(order: ShardOrder, stage: Callable[[], Stage]) -> Work:
    if order.run not in _started:
        _started.clear()  # before the next is loaded
        problem = order.needs.problem()  # this node may have joined later than the others
        if problem is not None:
            raise LeakscopeError(problem)
        os.chdir(order.needs.folder if order.needs.folder.is_dir() else "/")
        _started[order.run] = stage().start()
    return _started[order.run]


def _unexpected(error: Exception) -> LeakscopeError:
    """Where it happened, without its message, which may hold training text."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return LeakscopeError(
        f"Unexpected {type(error).__name__} in {Path(last.filename).name}, line {last.lineno}, on "
        f"a worker of the cluster; run the same command with --engine local to see more of it."
    )


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found
