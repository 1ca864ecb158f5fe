"""What `diff` writes: `diff.json`, and the rows of `found.parquet` and `scores.parquet`."""

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 1


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class FoundSequence(_Frozen):
    """A row of `found.parquet`: a sequence whose probability has risen, as the search found it."""

    length: int
    """In words, or in tokens where models have these."""
    place: int
    """Among those of its length, the greatest score first, from 1 on."""
    group: int
    """Of first entries, in which it was found."""
    score: float
    """Differential score, or the relative one: see the settings."""
    words: list[str] | None
    """Null: the result is redacted."""
    entries: list[str] | None
    """What the search went through: words, or tokens as they are spelled."""
    unfinished: bool
    """Whether the last word would go on, which tokens alone can leave so; it is not counted."""
    old: list[float]
    new: list[float]
    """The probability of each entry, in either model."""
    total_in_old: int | None = None
    users_in_old: int | None = None
    total_in_new: int | None = None
    users_in_new: int | None = None
    total_in_difference: int | None = None
    users_in_difference: int | None = None
    """Occurrences and distinct users in the data of the old model, of the new one, and in the
    documents that only the new one has; null: not counted."""
    one_user: bool | None = None
    """Whether one user of the difference has it, and nobody in the old data."""
    user: str | None = None
    """That user; null where there is none, and in a redacted result."""

    def redacted(self) -> "FoundSequence":
        """Without words and users."""
        return self.model_copy(update={"words": None, "entries": None, "user": None})


class ScoredSequence(_Frozen):
    """A row of `scores.parquet`: a sequence that was given, or a canary."""

    number: int
    """The line of the file, or the canary's number."""
    canary: bool
    state: str | None
    """Of a canary: planted, control, ..."""
    frequency: str | None
    repetitions: int | None
    length: int
    """In words."""
    words: list[str] | None
    score: float | None = None
    """In words; null: see `reason`."""
    relative_score: float | None = None
    old: list[float] | None = None
    new: list[float] | None = None
    """The probability of each word, in either model."""
    entry_score: float | None = None
    """As a search gives it: where models have tokens, the sum over these."""
    rank: int | None = None
    """How many sequences of as many entries have a greater score."""
    rank_method: str | None = None
    """`exact`, or `lower bound`: from the search."""
    reason: str | None = None
    known: int = 0
    """First words of the canary that the attacker knew. All else is about the words behind them."""

    def redacted(self) -> "ScoredSequence":
        """Without words."""
        return self.model_copy(update={"words": None})


class DiffMetrics(_Frozen):
    """What gates look at. A figure that could not be measured is null, and `reasons` says why."""

    found: int | None
    """Sequences that are listed, of all lengths, with a score above 0."""
    best_score: float | None
    """The greatest, over all lengths."""
    in_difference_found: int | None
    """Of those listed, how many stand in the difference."""
    one_user_found: int | None
    """Of those, how many belong to one user of the difference."""
    one_user_longest: int | None
    """The most words that one of these has; 0: there is none."""
    users_found: int | None
    """To how many users these belong."""
    rank_zero_canaries: int | None
    """Planted canaries that no other sequence is before."""
    reasons: dict[str, str]


class UpdatedModel(_Frozen):
    """One of the two models."""

    name: str
    digest: str
    corpus_digest: str | None
    """Of the corpus that is known to be its training data; null: it was not given."""


class DiffReport(_Frozen):
    """`diff.json`."""

    schema_version: int = SCHEMA_VERSION
    versions: dict[str, str]
    old: UpdatedModel
    new: UpdatedModel
    unit: str
    """What the search went through: `words` or `tokens`."""
    entries: int | None
    """How many there are to choose from; null: there was no search."""
    widths: list[int]
    """How many sequences of each length were followed."""
    settings: dict[str, object]
    redacted: bool
    metrics: DiffMetrics
    warnings: list[str]
    sealed: bool = False
    """Whether a seal lists the digests of all files."""
