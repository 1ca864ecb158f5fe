"""What `canary exposure` and `canary attack` write: `exposure.json` and `attack.json`."""

from pydantic import BaseModel, ConfigDict

SCHEMA_VERSION = 1


class MeasuredModel(BaseModel):
    """What was measured on what."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    schema_version: int = SCHEMA_VERSION
    model: str
    model_digest: str
    canaries_digest: str
    """Of the manifest's content."""
    settings: dict[str, object]
    versions: dict[str, str]
    warnings: list[str]
    sealed: bool = False
    """Whether a seal lists the digests of all files."""


class SpaceExposure(BaseModel):
    """How one random space was measured."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    space: int
    template: str
    frequency: str
    log2_size: float | None = None
    """Of what the model can say; null where that is nothing."""
    log2_whole_size: float
    """Of all texts that canaries were drawn from."""
    enumerated: bool = False
    samples: int | None = None
    shape: float | None = None
    location: float | None = None
    scale: float | None = None
    """Of the skew-normal fit to -log2 p of the samples."""
    ks_distance: float | None = None
    ks_p_value: float | None = None
    """Too large, since the parameters were fitted to the same samples."""
    poor_fit: bool | None = None
    reason: str | None = None
    """Why something here is null."""


class CanaryExposure(BaseModel):
    """A canary's exposure, in bits; what could not be measured is null and has a reason."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    canary: int
    user: str | None
    state: str
    frequency: str | None
    space: int | None
    repetitions: int
    surprise: float | None = None
    """-log2 of its probability; null also where that is 0."""
    exposure: float | None = None
    """Exact where the space was enumerated; else by the fit; by samples where there is no fit, or
    where it is poor and the samples say it."""
    method: str | None = None
    """What `exposure` comes from: exact, fit or samples."""
    exact: float | None = None
    sampled: float | None = None
    sampled_low: float | None = None
    sampled_high: float | None = None
    censored: bool | None = None
    """Whether `sampled` is only a lower bound: no sample was as probable."""
    fitted: float | None = None
    fitted_low: float | None = None
    fitted_high: float | None = None
    clipped: bool | None = None
    """Whether the fit said more than the space allows."""
    reason: str | None = None


class RepetitionExposure(BaseModel):
    """The mean exposure of canaries with equally many repetitions."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    state: str
    frequency: str
    repetitions: int
    canaries: int
    measured: int
    mean: float | None
    low: float | None
    high: float | None
    """Ends of the 95 % bootstrap interval over canaries."""
    censored: int | None
    """How many are only lower bounds, where exposure comes from samples."""
    beyond_samples: int | None = None
    """How many the model finds more probable than every sample, so that their exposure is read off
    the tail of the fit; null: there were no samples."""


class ExposureReport(MeasuredModel):
    """`exposure.json`."""

    spaces: list[SpaceExposure]
    by_repetitions: list[RepetitionExposure]


class AttackRate(BaseModel):
    """How many canaries were reconstructed whole, of those with equally many repetitions."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    state: str
    frequency: str | None
    repetitions: int
    attack: str
    """`greedy`, or `beam` of the width in the settings."""
    attacked: int
    reconstructed: int
    rate: float
    low: float
    high: float
    """Ends of the 95 % Clopper-Pearson interval."""


class CanaryAttack(BaseModel):
    """What the tab attack got of one canary."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    canary: int
    user: str | None
    state: str
    frequency: str | None
    repetitions: int
    words: int
    """How many the attacker had to find."""
    correct: int | None = None
    """How many of them came in order, up to the first wrong one."""
    greedy: bool | None = None
    beam: bool | None = None
    """Whether all of them came out; null: not attacked so, or see `reason`."""
    reason: str | None = None


class AttackReport(MeasuredModel):
    """`attack.json`."""

    rates: list[AttackRate]
