"""What `probe` answers, whatever kind of model was asked."""

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class Suggestion:
    """One entry of the top k."""

    entry: str
    probability: float
    is_word: bool
    """False for marks such as `<unk>`, which the attacker cannot use."""


@dataclass(frozen=True)
class Probe:
    """What came after one prefix, in the model's own units."""

    prefix: list[str]
    unknown: list[bool]
    """Which units of the prefix the model does not know."""
    suggestions: list[Suggestion]
    continuation: list[str]
    """The top entry, taken again and again, up to the end of the document."""
    probability: float
    """Of the whole continuation."""
    prompt: str
    """The prefix as it reads."""
    text: str
    """The continuation as it reads: words joined by spaces, tokens as they join of themselves."""
    unit: Literal["word", "token"] = "word"
    """What the entries of `prefix`, `suggestions` and `continuation` are."""
    hidden: int | None = None
    """How many blocked words would have stood among the suggestions; None: no block list."""
    avoided: int | None = None
    """How many blocked words the continuation went round; None: no block list."""


class Prober(Protocol):
    """A model that is asked again and again."""

    def __call__(self, text: str, *, top_k: int = 5, length: int = 20) -> Probe:
        """Top k and greedy continuation of at most `length` units."""
        ...
