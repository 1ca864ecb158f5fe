"""The records of one report: `manifest.json` and `metrics.json`."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from leakscope.records.artifacts import read_json
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.audited_model import AuditedModel
from leakscope.records.models.public_model import PublicModelRecord
from leakscope.records.runs.report_settings import ReportSettings

SCHEMA_VERSION = 1


class Metrics(BaseModel):
    """`metrics.json`. What could not be measured is null and has its reason in `reasons`."""

    model_config = ConfigDict(frozen=True)

    top_k: int
    users: int
    documents: int
    words: int
    """Of the training data D."""
    correct_words: int
    """Words of D within the model's top k."""
    occurrences: int
    """|S|, with multiplicity."""
    sequences: int
    """Distinct sequences in S."""
    unique_sequences: int
    """Metric 1: sequences of S that are unique."""
    unique_not_copied: int
    """Those of them that were not already in every one of their contexts."""
    unique_by_length: dict[int, int]
    longest_unique: int | None
    users_with_unique: int
    user_threshold: int | None
    """The p of the filter on users in S; None: no filter."""
    below_threshold: int
    """Sequences with fewer than p users in S, which the table lists; all if there is no p."""
    near_ties: int
    """Decisions within float noise, settled in float64."""
    curated: dict[str, int] | None
    """Metric 2 by threshold t: unique sequences with ratio >= t."""
    leakage_epsilon: float | None
    """The largest ratio over the unique sequences."""
    leakage_epsilon_sequence: int | None = None
    """The `id` of the sequence that sets it."""
    public_unique_sequences: int | None = None
    """The benchmark line: what the public model itself gives away of D, as metric 1 counts it."""
    public_unknown_sequences: int | None = None
    """Unique sequences with a word that the public model does not know: their ratio is a lower
    bound."""
    unique_without_context: int | None = None
    """Unique sequences that the model produces with no context at all."""
    least_context_measured: int | None = None
    """For how many unique sequences the least context was looked for."""
    elsewhere: dict[str, dict[str, int]] | None = None
    """Prompts outside the training contexts, tried and successful, by kind."""
    unique_pii: dict[str, int] | None = None
    """Unique sequences that look like personal data, by kind; one may be of several."""
    unique_with_pii: int | None = None
    """Unique sequences that look like personal data of any kind."""
    answered: float | None = None
    """Share of validation words at which a hardened interface suggests something."""
    train_perplexity: float | None
    train_perplexity_low: float | None
    train_perplexity_high: float | None
    validation_perplexity: float | None
    validation_accuracy: dict[int, float] | None
    """By k, as shares of all words."""
    reasons: dict[str, str]


class RunManifest(BaseModel):
    """`manifest.json`: everything needed to make the run again, or to compare it with another."""

    model_config = ConfigDict(frozen=True)

    schema_version: int = SCHEMA_VERSION
    name: str
    versions: dict[str, str]
    settings: ReportSettings
    revealed: bool
    corpus_digest: str
    lexicon_digest: str
    model_digest: str
    model: AuditedModel
    """The model's own config: architecture, training settings, seeds."""
    options: dict[str, Any] = {}
    """The options of the command as they were given, by their names; `report --config` takes them
    from here."""
    public: PublicModelRecord | None = None
    """The public model, if there was one."""


def open_run(path: Path) -> tuple[RunManifest, Metrics]:
    """The manifest and metrics of a run directory."""
    if not path.is_dir():
        raise LeakscopeError(f"{path} is not a run directory; make one by leakscope report.")
    manifest = read_json(path / "manifest.json", RunManifest, "a run of leakscope report")
    if manifest.schema_version != SCHEMA_VERSION:
        raise LeakscopeError(
            f"{path} has run format {manifest.schema_version}, this version reads "
            f"{SCHEMA_VERSION}; make the report again."
        )
    return manifest, read_json(path / "metrics.json", Metrics, "a run of leakscope report")
