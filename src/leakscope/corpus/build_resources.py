"""What a build may use of the machine; nothing of it changes the corpus."""

import re
from dataclasses import dataclass

from leakscope.records.errors import LeakscopeError

_UNITS = {"MB": 10**6, "GB": 10**9, "MIB": 1 << 20, "GIB": 1 << 30}
_LEAST = 10**9
_MOST_RUN = 16 << 20
_MOST_PIECE = 32 << 20


@dataclass(frozen=True)
class BuildResources:
    """What a build may use of the machine; nothing of it changes the corpus."""

    threads: int = 2
    """CPU threads."""
    memory: str = "2GB"
    """Memory to plan for, at least 1GB. Very many distinct words, and huge documents, need more."""

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise LeakscopeError("--threads must be at least 1.")
        if self.bytes < _LEAST:
            raise LeakscopeError("--memory must be at least 1GB.")

    @property
    def bytes(self) -> int:
        """The memory in bytes."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([MG]I?B)", self.memory.strip().upper())
        if found is None:
            raise LeakscopeError("--memory is a size such as 2GB or 1500MB.")
        return int(float(found[1]) * _UNITS[found[2]])

    @property
    def run_bytes(self) -> int:
        """How much of the input is read at a time, by each thread."""
        return min(_MOST_RUN, self.bytes // (32 * self.threads))

    @property
    def piece_bytes(self) -> int:
        """How much text is split into words at a time, by each thread."""
        return min(_MOST_PIECE, self.bytes // (16 * self.threads))
