"""How a report is run, whatever it measures."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from leakscope.records.errors import LeakscopeError
from leakscope.records.memory_size import memory_bytes


@dataclass(frozen=True)
class RunningSettings:
    """How a report is run; nothing of it changes a measurement."""

    snapshots: bool = False
    """Report on every snapshot of the training, and compare them."""
    fail_on: tuple[str, ...] = field(default=(), metadata={"group": "Gates"})
    """A gate such as 'unique_sequences>0', 'curated[10]>0' or 'unique_by_length[5+]>0': exit code 1
    if it holds, and 2 if it cannot be checked. The verdict stands in the run. May be repeated."""
    name: str | None = None
    """What to call the model in tables."""
    workers: int = 1
    """Processes that score shards."""
    threads: int = 2
    """CPU threads in all."""
    memory: str = "8GB"
    """Memory to plan for, of each worker, at least 1GB: more sequences than that takes are counted
    one part after the other."""
    engine: Literal["local", "ray"] = field(default="local", metadata={"group": "On a cluster"})
    """Where shards are worked on: by processes of this machine, or by Ray, on a cluster or on one
    that is started here with --workers workers."""
    address: str | None = field(default=None, metadata={"group": "On a cluster"})
    """The Ray cluster to use, as HOST:PORT; this machine must be one of its nodes."""
    cores: int = field(default=1, metadata={"group": "On a cluster"})
    """Cores of each worker of Ray that runs the model. It has as many threads, and a GPU if the
    cluster has GPUs."""

    def __post_init__(self) -> None:
        if self.workers < 1 or self.threads < 1 or self.cores < 1:
            raise LeakscopeError("--workers, --threads and --cores must be at least 1.")
        memory_bytes(self.memory)
        if self.engine == "local" and (self.address is not None or self.cores != 1):
            raise LeakscopeError("--address and --cores are about Ray; give --engine ray too.")
        if self.address is not None and self.workers != 1:
            raise LeakscopeError(
                "A cluster's size decides how many workers there are; leave out --workers."
            )
        if self.snapshots and self.name is not None:
            raise LeakscopeError("Snapshots have names of their own; leave out --name.")

    @property
    def trie_bytes(self) -> int:
        """What sequences and their counts may take in a worker."""
        return memory_bytes(self.memory) // 2

    @property
    def threads_of_worker(self) -> int:
        """CPU threads of each process that runs the model."""
        return self.cores if self.engine == "ray" else max(1, self.threads // self.workers)


@dataclass(frozen=True)
class InterfaceSettings:
    """What stands between the model and its users."""

    block_list: Path | None = None
    """Report on the model behind this block list."""


@dataclass(frozen=True)
class UserChoice:
    """Whose documents a report is about."""

    users: Path | None = None
    """Audit only the users in this file, one key a line. Their sequences are still counted in the
    whole corpus."""


@dataclass(frozen=True)
class EndpointAccess:
    """How an endpoint is entered, and where its answers are kept."""

    answers: Path | None = None
    """A directory to keep the endpoint's answers in and find them again; by default they are kept
    with the run until it is finished."""
    api_key_env: str | None = None
    """The environment variable that holds the key; by default OPENAI_API_KEY, unless the address
    is of another machine and not encrypted."""
