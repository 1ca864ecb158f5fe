"""What a training is told."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from leakscope.models.word.architecture import PRESETS, Architecture
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.mitigation_settings import MitigationSettings, without_seed
from leakscope.training.mitigations.plain_settings import PLAIN
from leakscope.training.mitigations.registry import settings_from


@dataclass(frozen=True)
class TrainSettings:
    """All that decides the weights, apart from the corpus and the warm start."""

    architecture: Architecture
    """The shape of the network."""
    vocabulary: int = 10_000
    """How many words the model knows: the most frequent ones of the corpus."""
    epochs: int = 10
    """How often the training goes through its text."""
    batch_size: int = 32
    """Documents (or pieces of long ones) in a step."""
    optimizer: Literal["adam", "adamax"] = "adam"
    """The optimizer: adam or adamax."""
    learning_rate: float = 1e-3
    """How far each step of the optimizer goes."""
    max_words: int = 256
    """Longer documents are trained in pieces of so many words."""
    clip: float = 5.0
    """Largest norm of a step's gradient."""
    seed: int = 0
    """Decides the first weights, the order of the text and dropout."""
    snapshot_steps: int | None = None
    """Take a snapshot every so many steps. By default there is one after every epoch."""
    checkpoint_steps: int = 500
    """Write a checkpoint to resume from every so many steps, and at every snapshot."""
    vocabulary_users: int = 1
    """Leave out of the vocabulary all words that fewer users than this have used. Without it, or
    --vocabulary-from, a private model cannot be published."""
    until_perplexity: float | None = None
    """Stop at the first snapshot whose validation perplexity is at most this, so that models can be
    compared at equal usefulness. By default all epochs are trained."""
    mitigation: MitigationSettings = PLAIN
    """What is done against leakage. With differential privacy, the batch size and the clip of the
    training itself have no say."""

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
        if self.until_perplexity is not None and not 1 < self.until_perplexity < math.inf:
            raise LeakscopeError("The perplexity to stop at must be above 1.")
        self.mitigation.check(dropout=self.architecture.dropout, snapshot_steps=self.snapshot_steps)
        context = self.architecture.context
        if self.architecture.kind == "transformer" and self.max_words != context:
            # Longer pieces do not fit; after shorter ones the later positions are untrained.
            raise LeakscopeError(
                f"A transformer with a context of {context} words is trained in pieces of "
                f"{context} words, not {self.max_words}; leave out --max-words."
            )

    def record(self) -> dict[str, Any]:
        """As plain data; without what is not asked for, so that models of older versions stay what
        they are. It may hold an insecure seed: see `shareable`.
        """
        found = asdict(self)
        if self.mitigation.kind == PLAIN.kind:
            del found["mitigation"]
        else:
            found["mitigation"] = self.mitigation.record()
        if self.vocabulary_users == 1:
            del found["vocabulary_users"]
        if self.until_perplexity is None:
            del found["until_perplexity"]
        return found

    def shareable(self) -> dict[str, Any]:
        """As `record`, for the model's config: without the value of an insecure seed, since a
        config goes where the weights go.
        """
        return without_seed(self.record())

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> "TrainSettings":
        """The settings that `record` gives as plain data; pydantic's ValidationError if they cannot
        be read.
        """
        from pydantic import TypeAdapter  # noqa: PLC0415

        given = {name: value for name, value in record.items() if name != "mitigation"}
        mitigation = settings_from(record.get("mitigation"))
        return TypeAdapter(TrainSettings).validate_python(given | {"mitigation": mitigation})

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
