"""What a report is asked."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from leakscope.records.errors import LeakscopeError
from leakscope.records.phone_region import check_phone_region

TrainedOn = Literal["all", "train"]
"""Which documents of a corpus a model was trained on: all, or those of its training part."""


@dataclass(frozen=True)
class AuditedUsers:
    """The users whose documents a report is about, where it is not about all of them."""

    users: int
    """How many were chosen."""
    digest: str
    """Of their numbers."""


@dataclass(frozen=True)
class ReportSettings:
    """What a report is asked."""

    top_k: int = 1
    """How many suggestions the attacker sees."""
    trained_on: TrainedOn | None = None
    """Which documents a model from elsewhere was trained on: all of the corpus, or only its
    training part (train). Needed unless the corpus says it by --split-column or --validation 0."""
    reveal: bool = False
    """Write words and user keys, not only lengths and numbers."""
    user_threshold: int | None = None
    """List only sequences that came out for fewer users than this (the p of Inan et al., section
    5)."""
    contexts: int = 20
    """Occurrences listed with each sequence."""
    context_words: int = 32
    """Words listed of each context."""
    full_perplexity: bool = False
    """Measure the training perplexity on every word, not on a sample; costs the full softmax."""
    thresholds: tuple[float, ...] = field(
        default=(1.5, 2.0, 5.0, 10.0), metadata={"option": "threshold", "group": "Public model"}
    )
    """Count unique sequences whose ratio is at least this. May be repeated."""
    benchmark: bool = field(default=False, metadata={"group": "Public model"})
    """Also count what the public model itself gives away of the corpus: one more pass over it."""
    least_context: int = 1000
    """For how many unique sequences to look for the shortest prompt that brings them out, largest
    ratio first. None at an endpoint unless given, since each costs requests."""
    elsewhere: int = 0
    """Prompts to spend on unique sequences outside their training contexts: cut, reworded, after
    other users' text."""
    confidence: float | None = field(default=None, metadata={"group": "Hardening"})
    """Report on an interface that stays silent where 1/p of its best suggestion exceeds this."""
    block_list: str | None = field(default=None, metadata={"option": None})
    """Digest of the block list that stands before the model, if one does."""
    false_discovery_rate: float = 0.05
    """Confirm unique sequences of which at most this share is expected to be chance, judged by what
    the model predicts in held-out documents."""
    decoy_words: int | None = None
    """Held-out words to measure chance on, by default all of them: the fewer, the wider the
    interval. None at an endpoint unless given."""
    audited: AuditedUsers | None = field(default=None, metadata={"option": None})
    """The users who were chosen to be audited; None: all."""
    validation_words: int = 50_000
    """Validation words to measure perplexity and accuracy on. None at an endpoint unless given."""
    phone_region: str | None = None
    """Tag more of this country's phone numbers; a two-letter code such as SG."""

    def __post_init__(self) -> None:
        if self.top_k < 1:
            raise LeakscopeError("top-k must be at least 1.")
        if self.trained_on is not None and self.trained_on not in get_args(TrainedOn):
            raise LeakscopeError("--trained-on is all or train.")
        if self.user_threshold is not None and self.user_threshold < 2:
            raise LeakscopeError("The threshold on users must be at least 2, or nothing is left.")
        if self.contexts < 1 or self.context_words < 0:
            raise LeakscopeError("Each sequence needs room for at least one context.")
        if any(not 0 < t < float("inf") for t in self.thresholds):
            raise LeakscopeError("Thresholds on the ratio must be positive and finite.")
        if not 0 < self.false_discovery_rate < 1:
            raise LeakscopeError("--false-discovery-rate must lie between 0 and 1.")
        budgets = (self.least_context, self.elsewhere, self.validation_words, self.decoy_words or 0)
        if min(budgets) < 0:
            raise LeakscopeError("Budgets must not be negative.")
        if self.confidence is not None and not 1 <= self.confidence < float("inf"):
            raise LeakscopeError("The confidence threshold on 1 / p must be at least 1.")
        check_phone_region(self.phone_region)

    @property
    def interface(self) -> str | None:
        """What stands before the model, as the end of "through an interface that"; None: nothing,
        it shows all that the model suggests.
        """
        found = []
        if self.confidence is not None:
            found.append(
                f"stays silent where 1/p of its best suggestion exceeds {self.confidence:g}"
            )
        if self.block_list is not None:
            found.append("suggests nothing that completes an entry of a block list")
        return " and ".join(found) or None

    @property
    def hardened(self) -> bool:
        """Whether the interface hides some of what the model would say."""
        return self.confidence is not None or self.block_list is not None
