"""What a model directory says of its model: `config.json`."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    SerializeAsAny,
    Tag,
    model_validator,
)

from leakscope.records.artifacts import digest_of
from leakscope.records.documents import IntArray
from leakscope.records.models.dp_record import PrivacyRecord
from leakscope.records.models.earlier_config import current_config
from leakscope.records.models.mitigation_record import MitigationRecord, PlainRecord

SCHEMA_VERSION = 2
"""1 had `privacy` in place of `mitigation`; such configs are read as what they are today."""


def _class_of(record: Any) -> str:
    kind = record.get("kind") if isinstance(record, Mapping) else getattr(record, "kind", None)
    return kind if kind in ("none", "dp") else "other"


AnyMitigation = Annotated[
    Annotated[PlainRecord, Tag("none")]
    | Annotated[PrivacyRecord, Tag("dp")]
    | Annotated[SerializeAsAny[MitigationRecord], Tag("other")],
    Discriminator(_class_of),
]
"""The record of a mitigation, by its kind."""


class Without(BaseModel):
    """Users whose documents a training left out."""

    model_config = ConfigDict(frozen=True)

    users: int
    digest: str
    """Of their numbers, see `users_digest`."""


class Ancestor(BaseModel):
    """A training that the weights have been through before this one."""

    model_config = ConfigDict(frozen=True)

    weights: str
    """Their digest after it."""
    corpus_digest: str
    without_users: Without | None = None


class TextOrigin(BaseModel):
    """Text that something was made of, by digests."""

    model_config = ConfigDict(frozen=True)

    corpus_digest: str
    lexicon_digest: str
    corpus_inputs: list[str] = []
    """Of what the corpus was built from."""


def users_digest(users: IntArray) -> str:
    """The digest of a set of users, by their numbers in the corpus."""
    return digest_of(sorted({int(user) for user in users}))


class ModelConfig(BaseModel):
    """`config.json`: what the model is and what it was trained on."""

    model_config = ConfigDict(frozen=True)

    schema_version: int = SCHEMA_VERSION
    kind: str = "word"
    architecture: dict[str, Any]
    vocabulary: int
    vocabulary_digest: str
    lexicon_digest: str
    """Of the lexicon of the corpus that it was trained on."""
    corpus_digest: str
    lowercase: bool
    parameters: int
    training: dict[str, Any]
    """All settings of the training; of an insecure seed only that one was given."""
    progress: dict[str, Any]
    """Epochs, steps and words seen, and the last validation figures."""
    initialized_from: str | None = None
    """Digest of the weights that the training started from, if not random."""
    without_users: Without | None = None
    """The users of the corpus whose documents were left out of the training, if any were."""
    ancestry: list[Ancestor] = []
    """The trainings before this one, by warm start, the last first."""
    corpus_inputs: list[str] = []
    """Digests of what the corpus was built from."""
    vocabulary_from: TextOrigin | None = None
    """The text that the vocabulary was made of, if it was taken from another model."""
    mitigation: AnyMitigation = PlainRecord()
    """What the training did against leakage, and what that came to."""
    versions: dict[str, str]
    published: bool = False
    """Whether this is a copy for others, which has no digests of the text: they are empty."""
    sealed: bool = False
    """Whether a seal lists the digests of all files; earlier versions had none."""

    @model_validator(mode="before")
    @classmethod
    def _of_today(cls, given: Any) -> Any:
        return current_config(given) if isinstance(given, dict) else given

    @property
    def privacy(self) -> PrivacyRecord | None:
        """The differential privacy of the training, if that is its mitigation."""
        return self.mitigation if isinstance(self.mitigation, PrivacyRecord) else None
