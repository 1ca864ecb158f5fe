"""A shard's output on its way from a worker to the folder where it belongs."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leakscope.records.artifacts import whole_file


@dataclass(frozen=True)
class OutputFile:
    """One file: its bytes, and the digest that the worker found."""

    name: str
    content: NDArray[np.uint8]
    digest: str

    @classmethod
    def read(cls, path: Path) -> "OutputFile":
        """A file that was just written."""
        content = np.fromfile(path, np.uint8)
        return cls(path.name, content, _digest(content))

    @property
    def is_intact(self) -> bool:
        """Whether the bytes are those that the worker read."""
        return _digest(self.content) == self.digest


@dataclass(frozen=True)
class ShardOutput:
    """All files that a stage wrote for one shard, the output itself last: the others, such as its
    seal, must be there before it.
    """

    files: tuple[OutputFile, ...]

    @classmethod
    def gather(cls, target: Path) -> "ShardOutput":
        """Everything beside `target`, which is alone in its folder, and `target`."""
        beside = sorted(path for path in target.parent.iterdir() if path != target)
        return cls(tuple(OutputFile.read(path) for path in (*beside, target)))

    def save(self, target: Path) -> bool:
        """Write the files, each whole or not at all; whether they came as they were sent. Nothing
        is written otherwise.
        """
        names = [file.name for file in self.files]
        ours = all(name.startswith(target.name) and "/" not in name for name in names)
        if not ours or names[-1:] != [target.name] or not all(f.is_intact for f in self.files):
            return False
        for file in self.files:
            with whole_file(target.with_name(file.name)) as partial:
                file.content.tofile(partial)
        return True


def _digest(content: NDArray[np.uint8]) -> str:
    return hashlib.blake2b(content.data, digest_size=16).hexdigest()
