"""How text becomes a corpus."""

from dataclasses import dataclass
from typing import Literal, get_args

from leakscope.records.errors import LeakscopeError

LexiconOrder = Literal["frequency", "users"]
SplitBy = Literal["document", "user"]


@dataclass(frozen=True)
class BuildSettings:
    """How text becomes a corpus. The manifest keeps this, and cleaning uses it again."""

    lowercase: bool = False
    """Lower-case all words."""
    order: LexiconOrder = "frequency"
    """Number words by their frequency, or by how many users use them."""
    validation: float = 0.1
    """Share of the documents (or users) that is held out."""
    split_by: SplitBy = "document"
    """Hold out single documents, or all documents of some users."""
    seed: int = 0
    """Seed of the split."""
    max_characters: int = 1_000_000
    """Set longer documents aside."""
    shard_words: int = 2_000_000
    """Words in a shard, roughly. A shard ends with a user; shards are worked on in parallel."""

    def __post_init__(self) -> None:
        if self.order not in get_args(LexiconOrder):
            raise LeakscopeError(f"--order must be one of {', '.join(get_args(LexiconOrder))}.")
        if self.split_by not in get_args(SplitBy):
            raise LeakscopeError(f"--split-by must be one of {', '.join(get_args(SplitBy))}.")
        if not 0 <= self.validation < 1:
            raise LeakscopeError("The validation fraction must be at least 0 and below 1.")
        if self.shard_words < 1 or self.max_characters < 1:
            raise LeakscopeError("--shard-words and --max-characters must be at least 1.")
