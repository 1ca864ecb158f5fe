"""What a build may use of the machine; nothing of it changes the corpus."""

from dataclasses import dataclass, field
from typing import Literal

from leakscope.records.errors import LeakscopeError
from leakscope.records.memory_size import memory_bytes

_MOST_RUN = 16 << 20
_MOST_PIECE = 32 << 20


@dataclass(frozen=True)
class BuildResources:
    """What a build may use of the machine; nothing of it changes the corpus."""

    threads: int = 2
    """CPU threads, or workers of a Ray cluster that is started here."""
    memory: str = "2GB"
    """Memory to plan for, at least 1GB. Huge documents need more."""
    engine: Literal["local", "ray"] = field(default="local", metadata={"group": "On a cluster"})
    """Where the work is done: by threads of this machine, or by Ray, on a cluster or on one that is
    started here."""
    address: str | None = field(default=None, metadata={"group": "On a cluster"})
    """The Ray cluster to use, as HOST:PORT; this machine must be one of its nodes, and the input at
    the same place on all of them."""

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise LeakscopeError("--threads must be at least 1.")
        if self.engine == "local" and self.address is not None:
            raise LeakscopeError("--address is about Ray; give --engine ray too.")
        memory_bytes(self.memory)

    @property
    def bytes(self) -> int:
        """The memory in bytes."""
        return memory_bytes(self.memory)

    @property
    def run_bytes(self) -> int:
        """How much of the input is read at a time, by each thread."""
        return min(_MOST_RUN, self.bytes // (32 * self.threads))

    @property
    def piece_bytes(self) -> int:
        """How much text is split into words at a time, by each thread."""
        return min(_MOST_PIECE, self.bytes // (16 * self.threads))
