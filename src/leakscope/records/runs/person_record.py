"""`person.json`: what a model gives away of one user."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from leakscope.records.runs.run_manifest import RunDigests

SCHEMA_VERSION = 1
Standing = Literal["audited", "not audited", "not trained on"]
"""`audited`: the model was asked about all training text of the user. `not audited`: the report was
about other users. `not trained on`: the user has no training documents."""


class PersonRecord(BaseModel):
    """`person.json`. What could not be measured is null and has its reason in `reasons`."""

    model_config = ConfigDict(frozen=True)

    schema_version: int = SCHEMA_VERSION
    model: str
    """The model's name."""
    top_k: int
    interface: str | None = None
    """What stands before the model, see `Metrics.interface`; null: nothing."""
    revealed: bool
    """Whether words and the user's key are in here."""
    run: RunDigests
    """The run that this was made from."""
    corpus_digest: str
    model_digest: str
    user: int
    """The user's number."""
    user_key: str | None
    standing: Standing
    summary: str
    """The finding in a few sentences."""
    documents: int
    words: int
    """Of the user's text in D."""
    occurrences: int | None
    """Correct runs in the user's documents, with multiplicity."""
    unlisted_occurrences: int | None
    """Those of them whose sequence the run does not list, by its --user-threshold."""
    unique_sequences: int | None
    """Sequences that came out and that only this user has."""
    predicted_words: int | None
    """Words of the user's documents that stand in correct runs."""
    predicted_share: float | None
    """The same as a share of `words`."""
    unique_words: int | None
    """Words of the user's documents that stand in correct runs whose sequence is unique."""
    unique_share: float | None
    """The same as a share of `words`."""
    figures: dict[str, Any] | None
    """The user's row of `users.parquet`."""
    sequences: list[dict[str, Any]]
    """A row for each distinct sequence that came out of the user's documents."""
    reasons: dict[str, str]
    warnings: tuple[str, ...]
    notices: tuple[str, ...]
    """Those of the run."""
    sealed: bool = False
    """Whether a seal lists the digests of all files."""
