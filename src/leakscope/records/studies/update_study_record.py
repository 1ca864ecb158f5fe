"""What `study updates` writes: `study.json`, and the rows of its tables."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from leakscope.records.studies.study_record import StudyTraining

SCHEMA_VERSION = 1


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class UpdateCondition(_Frozen):
    """Under which conditions something was measured."""

    scenario: str
    """`retrain`, `continue`, ..."""
    training: str
    insertions: int | None
    """How often the update has each canary; null: it has none."""
    extra: float
    """Share of the pool that the update adds."""
    top_k: int | None
    """Words that the attacker sees; null: all."""


class CanaryResult(UpdateCondition):
    """A row of `results.parquet`: one canary in one update."""

    seed: int
    known: int
    """First words that the attacker knows; score and rank are of the others."""
    canary: int
    """Its number among those of this seed."""
    planted: bool = True
    """Whether the update has it; if not, it is a control."""
    frequency: str
    length: int
    """Words that are scored."""
    score: float | None
    relative_score: float | None
    rank: int | None
    rank_method: str | None
    """`exact`, or `lower bound`: from the search."""
    rank_apart: int | None
    """Its rank if the other canaries of this update do not count; they are in one model, so that at
    most one of them has rank 0."""
    reason: str | None
    """Why something is null."""


class UpdateResult(UpdateCondition):
    """A row of `found.parquet`: what a search found in one update."""

    seed: int
    deleted_users: int | None
    """Whose text the newer model did not get; null: nobody's was taken away."""
    old_perplexity: float | None
    new_perplexity: float | None
    """Of the validation documents; null: there are none, or it was not measured."""
    found: int
    best_score: float
    in_difference_found: int
    """Listed sequences that stand in the text that only one of the models got."""
    one_user_found: int
    """Of these, those that belong to one user alone."""
    one_user_longest: int
    """The most words that one of these has."""
    users_found: int
    """To how many users these belong."""
    top_one_user: float | None
    """Share of the ten best of the greatest length that belong to one user alone; null: none was
    found."""


class UpdateRow(UpdateCondition):
    """The canaries of one class under one condition, over all seeds."""

    known: int
    frequency: str
    canaries: int
    measured: int
    """Canaries that have a score."""
    score: float | None = None
    low: float | None = None
    high: float | None = None
    """Mean, least and greatest."""
    relative_score: float | None = None
    rank: float | None = None
    rank_apart: float | None = None
    """Medians."""
    rank_zero: int
    """Canaries that no other sequence is before, but for other canaries of their update."""
    exact: bool
    """Whether all ranks are exact; if not, some are lower bounds."""
    controls: int = 0
    """Canaries of this class that the update does not have, and that have a score."""
    control_score: float | None = None
    control_high: float | None = None
    """Their mean and greatest score: what chance gives."""


class UpdateFoundRow(UpdateCondition):
    """What searches found under one condition: means over all seeds."""

    seeds: int
    old_perplexity: float | None
    new_perplexity: float | None
    found: float
    best_score: float
    in_difference_found: float
    one_user_found: float
    one_user_longest: float
    users_found: float
    top_one_user: float | None


class UpdateStudyRecord(_Frozen):
    """`study.json`."""

    schema_version: int = SCHEMA_VERSION
    study: Literal["updates"] = "updates"
    versions: dict[str, str]
    corpus_digest: str
    settings: dict[str, object]
    trainings: list[StudyTraining]
    rows: list[UpdateRow]
    found: list[UpdateFoundRow]
    warnings: list[str]
    sealed: bool = False
    """Whether a seal lists the digests of all files."""
