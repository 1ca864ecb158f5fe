"""The records of one report: `manifest.json` and `metrics.json`, and the tables' schemas."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from leakscope.records.artifacts import read_json
from leakscope.records.errors import LeakscopeError

SCHEMA_VERSION = 1

SEQUENCES = pa.schema(
    [
        ("id", pa.int32()),
        ("sequence", pa.list_(pa.string())),
        ("length", pa.int32()),
        ("total_in_s", pa.int64()),
        ("users_in_s", pa.int32()),
        ("total_in_d", pa.int64()),
        ("users_in_d", pa.int32()),
        ("contexts", pa.list_(pa.list_(pa.string()))),
        ("context_lengths", pa.list_(pa.int32())),
        ("perplexities", pa.list_(pa.float32())),
        ("lowest_perplexity", pa.float32()),
        ("public_perplexities", pa.list_(pa.float32())),
        ("ratio", pa.float32()),
        ("copied_from_context", pa.bool_()),
        ("near_tie", pa.bool_()),
        ("least_context", pa.int32()),
        ("least_context_exact", pa.bool_()),
        ("elsewhere_tried", pa.int32()),
        ("elsewhere_out", pa.int32()),
        ("pii", pa.list_(pa.string())),
    ]
)
"""`sequence` and `contexts` are null in a redacted run. The lists are aligned and hold at most
the run's `contexts` setting, shortest context first; `occurrences.parquet` has them all, and
`lowest_perplexity` is over them all. `public_perplexities`, `ratio` and the last five are null
where the sequence is not unique or it was not measured."""

OCCURRENCES = pa.schema(
    [
        ("sequence", pa.int32()),
        ("user", pa.int32()),
        ("document", pa.int64()),
        ("start", pa.int32()),
        ("length", pa.int32()),
        ("perplexity", pa.float32()),
        ("copied", pa.bool_()),
        ("near_tie", pa.bool_()),
        ("ranks", pa.list_(pa.int32())),
        ("log_probs", pa.list_(pa.float32())),
        ("top_log_probs", pa.list_(pa.float32())),
        ("public_log_probs", pa.list_(pa.float32())),
    ]
)
"""`public_log_probs` is null for sequences that are not unique, and without a public model."""

VALIDATION = pa.schema([("rank", pa.int32()), ("top_log_prob", pa.float32())])
"""The model's answers on a sample of validation words, for hardening curves."""

USERS = pa.schema(
    [
        ("user", pa.int32()),
        ("user_key", pa.string()),
        ("documents", pa.int64()),
        ("words", pa.int64()),
        ("occurrences", pa.int64()),
        ("unique_sequences", pa.int64()),
        ("longest_unique", pa.int32()),
        ("shortest_context", pa.int32()),
        ("largest_ratio", pa.float32()),
        ("least_context", pa.int32()),
        ("pii", pa.list_(pa.string())),
    ]
)
"""`user_key` is null in a redacted run; what follows `unique_sequences` is null for users without
any, and where it was not measured."""


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
    """Metric 1: sequences of S that one user alone has in D."""
    unique_not_copied: int
    """Those of them that did not stand in every one of their contexts already."""
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
    """Unique sequences that come out of nothing: no context at all."""
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
    settings: dict[str, Any]
    revealed: bool
    corpus_digest: str
    lexicon_digest: str
    model_digest: str
    model: dict[str, Any]
    """The model's own config: architecture, training settings, seeds."""
    options: dict[str, Any] = {}
    """The options of the command as they were given, by their names; `report --config` takes them
    from here."""
    public: dict[str, Any] | None = None
    """The public model: kind, name, digests, warnings."""


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
