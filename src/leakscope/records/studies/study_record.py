"""What `study mitigations` writes: `study.json`, and the rows of its tables."""

from pydantic import BaseModel, ConfigDict

from leakscope.records.canaries.exposure_record import CanaryAttack, CanaryExposure

SCHEMA_VERSION = 1


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class StudyTraining(_Frozen):
    """A training that is compared."""

    name: str
    mitigation: str
    """`none`, `dp`, ..."""
    settings: dict[str, object]


class StudyResult(_Frozen):
    """One training with one seed, at one target. What was not measured is null, and `reason` says
    why.
    """

    training: str
    mitigation: str
    seed: int
    target: float
    best_perplexity: float
    """Of the validation documents, in the whole training."""
    trained_epochs: float
    """In the whole training, which stops at the lowest of its targets."""
    seconds_per_epoch: float
    relative_cost: float
    """Seconds per epoch, in those of the plain training with this seed."""
    perplexity: float | None = None
    """Where the target was first reached; null, as all that follows: it was not."""
    epochs: float | None = None
    steps: int | None = None
    epsilon: float | None = None
    delta: float | None = None
    """Of differential privacy, at that point."""
    unique_sequences: int | None = None
    exposure: float | None = None
    """Mean over the planted canaries, in bits."""
    synthetic_attacked: int | None = None
    synthetic_reconstructed: int | None = None
    """Planted canaries, in the greedy tab attack."""
    real_attacked: int | None = None
    real_reconstructed: int | None = None
    """Users' documents that surprised the plain model of the same target most."""
    most_drop: float | None = None
    fewest_drop: float | None = None
    """Rise in perplexity against that model, of the users with the most and with the fewest
    training documents."""
    gap: float | None = None
    """How much more those with the fewest documents lose."""
    reason: str | None = None


class StudyRow(_Frozen):
    """One training at one target, over all seeds: means, and intervals over the canaries of all
    seeds together.
    """

    training: str
    mitigation: str
    target: float
    seeds: int
    reached: int
    """Seeds that reached the target. Means are over these."""
    best_perplexity: float
    """The lowest of all seeds."""
    seconds_per_epoch: float
    relative_cost: float
    perplexity: float | None = None
    epochs: float | None = None
    epsilon: float | None = None
    """The largest of all seeds."""
    unique_sequences: float | None = None
    exposure: float | None = None
    exposure_low: float | None = None
    exposure_high: float | None = None
    synthetic_rate: float | None = None
    synthetic_low: float | None = None
    synthetic_high: float | None = None
    real_rate: float | None = None
    real_low: float | None = None
    real_high: float | None = None
    """Shares reconstructed, with Clopper-Pearson intervals."""
    most_drop: float | None = None
    fewest_drop: float | None = None
    gap: float | None = None
    reason: str | None = None


class StudyRepetition(_Frozen):
    """The planted canaries of one training at one target with equally many repetitions."""

    training: str
    target: float
    repetitions: int
    measured: int
    exposure: float | None = None
    exposure_low: float | None = None
    exposure_high: float | None = None
    attacked: int
    rate: float | None = None
    rate_low: float | None = None
    rate_high: float | None = None


class StudyExposure(CanaryExposure):
    """A row of `exposure.parquet`."""

    training: str
    seed: int
    target: float


class StudyAttack(CanaryAttack):
    """A row of `attack.parquet`."""

    training: str
    seed: int
    target: float


class StudyImpact(_Frozen):
    """A row of `impact.parquet`: how much worse one user is served than by the plain model."""

    training: str
    seed: int
    target: float
    user: int
    documents: int
    """In the training text."""
    drop: float | None
    """Null: too large for a number."""
    low: float | None
    high: float | None
    """Null: the user has a single validation document."""


class StudyRecord(_Frozen):
    """`study.json`."""

    schema_version: int = SCHEMA_VERSION
    study: str = "mitigations"
    versions: dict[str, str]
    corpus_digest: str
    settings: dict[str, object]
    trainings: list[StudyTraining]
    baseline: str
    """The plain training that the others are held against."""
    targets: list[float]
    """From the easiest on."""
    targets_from: float | None
    """The best perplexity of plain training that they were made from; null: they were given."""
    rows: list[StudyRow]
    by_repetitions: list[StudyRepetition]
    results: list[StudyResult]
    warnings: list[str]
    sealed: bool = False
    """Whether a seal lists the digests of all files."""
