"""What decides a model's answers: kept ones are used again only where all of it is the same."""

import unicodedata
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from leakscope.records.artifacts import digest_of

HERE = ("torch", "numpy")
"""The packages that compute the answers of every model that runs here."""


@dataclass(frozen=True)
class AnswerIdentity:
    """All that decides what a model answers when it is asked the same: its files, how they are
    read, on which kind of device, and the versions of what computes.

    A package belongs to it if another version may give another number: PyTorch and NumPy for every
    model that runs here; for sub-word models what reads their files and splits their texts as well.
    So do Python's tables of characters, which say what a word is. What reads, writes or moves files
    (safetensors, pyarrow, Ray) and whatever counts in whole numbers (numba) does not. leakscope's
    own version is in the key of everything that is kept.

    How many threads, processes or tokens at a time are at work is no part of it: decisions that
    hang on rounding are made in float64, so that they are the same for all.
    """

    files: str
    """The digest of every file that decides its answers; of a served model, of what is known of
    it."""
    device: str = "cpu"
    """The kind of device that it runs on, whichever of them."""
    dtype: str = "float32"
    """What it computes in."""
    chat_template: str | None = None
    """The role that documents have in its chat template; None: they are plain texts."""
    packages: tuple[str, ...] = HERE
    """What computes its answers."""

    def plain(self) -> dict[str, Any]:
        """All of it, as plain data."""
        return {
            "files": self.files,
            "device": self.device,
            "dtype": self.dtype,
            "chat_template": self.chat_template,
            "versions": {name: _version(name) for name in self.packages},
            "characters": unicodedata.unidata_version,
        }

    @property
    def digest(self) -> str:
        """Of all of it."""
        return digest_of(self.plain())


def _version(package: str) -> str | None:
    """None: it is not installed, which loading the model will say."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
