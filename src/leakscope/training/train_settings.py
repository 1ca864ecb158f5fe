"""What a training is told."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from leakscope.models.word.architecture import PRESETS, Architecture
from leakscope.records.dp_record import without_seed
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.dp_settings import PrivacySettings


@dataclass(frozen=True)
class TrainSettings:
    """All that decides the weights, apart from the corpus and the warm start."""

    architecture: Architecture
    vocabulary: int = 10_000
    epochs: int = 10
    batch_size: int = 32
    """Documents (or pieces of long ones) a step."""
    optimizer: Literal["adam", "adamax"] = "adam"
    learning_rate: float = 1e-3
    max_words: int = 256
    """Longer documents are trained in pieces of so many words."""
    clip: float = 5.0
    """Largest norm of a step's gradient."""
    seed: int = 0
    snapshot_steps: int | None = None
    """A snapshot every so many steps; None: every epoch."""
    checkpoint_steps: int = 500
    """A checkpoint to resume from every so many steps, and at every snapshot."""
    vocabulary_users: int = 1
    """Words of fewer users than this are not in the vocabulary."""
    privacy: PrivacySettings | None = None
    """The terms of differential privacy; batch size and clip are then those of the terms."""

    def __post_init__(self) -> None:
        if min(self.vocabulary, self.epochs, self.batch_size, self.checkpoint_steps) < 1:
            raise LeakscopeError("Vocabulary, epochs, batch size and steps must be at least 1.")
        if self.max_words < 2 or (self.snapshot_steps is not None and self.snapshot_steps < 1):
            raise LeakscopeError("Pieces need at least 2 words and snapshots at least 1 step.")
        if self.optimizer not in ("adam", "adamax"):
            raise LeakscopeError("The optimizer is adam or adamax.")
        if not (0 < self.learning_rate < math.inf and 0 < self.clip < math.inf):
            raise LeakscopeError("The learning rate and the clip must be positive and finite.")
        if not 0 <= self.seed < 2**31:
            raise LeakscopeError("The seed must be at least 0 and below 2^31.")
        if self.vocabulary_users < 1:
            raise LeakscopeError("The users of a word must be at least 1.")
        if self.privacy is not None and self.architecture.dropout:
            raise LeakscopeError("Private training has no dropout; set --dropout 0.")
        if self.privacy is not None and self.snapshot_steps and self.privacy.snapshot_at_epsilon:
            raise LeakscopeError("Take snapshots either by steps or at epsilons.")
        context = self.architecture.context
        if self.architecture.kind == "transformer" and self.max_words != context:
            # Longer pieces do not fit; after shorter ones the later positions are untrained.
            raise LeakscopeError(
                f"A transformer with a context of {context} words is trained in pieces of "
                f"{context} words, not {self.max_words}; leave out --max-words."
            )

    def record(self) -> dict[str, Any]:
        """As plain data, for digests that stay here; without what is not asked for, so that models
        of older versions stay what they are.
        """
        found = asdict(self)
        if self.privacy is None:
            del found["privacy"]
        if self.vocabulary_users == 1:
            del found["vocabulary_users"]
        return found

    def shareable(self) -> dict[str, Any]:
        """As `record`, for the model's config: without the value of an insecure seed, since a
        config goes where the weights go.
        """
        return without_seed(self.record())

    @staticmethod
    def from_preset(name: str, **changes: Any) -> "TrainSettings":
        """A preset's settings, with `changes` made to them (None: no change)."""
        if name not in PRESETS:
            raise LeakscopeError(f"There is no preset {name}; choose from {', '.join(PRESETS)}.")
        preset = PRESETS[name]
        chosen = {key: value for key, value in changes.items() if value is not None}
        settings: dict[str, Any] = {
            "architecture": preset.architecture,
            "vocabulary": preset.vocabulary,
            "batch_size": preset.batch_size,
            "optimizer": preset.optimizer,
            "learning_rate": preset.learning_rate,
        }
        return TrainSettings(**(settings | chosen))
