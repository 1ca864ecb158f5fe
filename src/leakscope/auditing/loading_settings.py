"""How a model is loaded and run."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from leakscope.records.errors import LeakscopeError


@dataclass(frozen=True)
class LoadingSettings:
    """How a model is loaded and run; most of it concerns Hugging Face models."""

    dtype: str = "float32"
    """What the model computes in: float32, bfloat16, ..."""
    base: Path | None = None
    """The model that a PEFT adapter belongs to, if it is not where the adapter says."""
    batch_tokens: Literal["auto"] | int = "auto"
    """Tokens that the model reads at a time, at most, or auto: what suits the device. Where memory
    runs out they are halved; results do not depend on it."""
    chat_template: Literal["assistant", "user"] | None = None
    """Read each document as a message of the model's chat template: as the assistant's, or as the
    user's. By default documents are plain texts."""
    device: str = field(default="auto", metadata={"group": "Running it"})
    """cpu, cuda, cuda:1, ..., or auto: a GPU if there is one."""
    threads: int = field(default=2, metadata={"option": None})
    """CPU threads of one process."""

    def __post_init__(self) -> None:
        if isinstance(self.batch_tokens, int) and self.batch_tokens < 1:
            raise LeakscopeError("--batch-tokens is auto, or a number of at least 1.")

    @property
    def most_tokens(self) -> int | None:
        """Tokens at a time; None: what suits the device."""
        return self.batch_tokens if isinstance(self.batch_tokens, int) else None
