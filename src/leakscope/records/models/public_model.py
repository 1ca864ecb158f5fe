"""What a run's manifest says of its public model: a record for each way to come by one."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from leakscope.records.models.audited_model import HubOrigin
from leakscope.records.sparse_record import SparseRecord


class StageRecord(BaseModel):
    """The public models when they had come as far as the audited one, which is a snapshot."""

    model_config = ConfigDict(frozen=True)

    snapshot: str
    """Its name."""
    epochs: tuple[float | None, ...]
    """After which each of them was asked."""
    digests: tuple[str, ...]
    """Of their weights then; empty where not all of them have kept these."""


class _PublicModelRecord(SparseRecord):
    kind: str
    name: str
    digests: tuple[str, ...]
    """Of its weights; several if it is cross-fitted."""
    warnings: tuple[str, ...] = ()
    """What makes it less than a public model, a sentence each."""


class GivenModelRecord(_PublicModelRecord):
    """A model that somebody chose."""

    kind: Literal["given"] = "given"
    parameters: int | None = None
    owners_judged: int | None = None
    """Users whose unique sequences it judged."""
    hub: HubOrigin | None = None


class RetrainedModelRecord(_PublicModelRecord):
    """A model trained in the same way without the owners of unique sequences."""

    kind: Literal["retrain"] = "retrain"
    users_left_out: int | None = None
    stage: StageRecord | None = None
    """Who says what comes out without memory, if not the finished model."""


class CrossFittedModelRecord(_PublicModelRecord):
    """Models trained in the same way, each judging the users that it was trained without."""

    kind: Literal["crossfit"] = "crossfit"
    folds: int | None = None
    owners_judged: int | None = None
    trained_like_the_audited_model: bool | None = None
    stage: StageRecord | None = None
    """Who says what comes out without memory, if not the finished models."""


PublicModelRecord = Annotated[
    GivenModelRecord | RetrainedModelRecord | CrossFittedModelRecord, Field(discriminator="kind")
]
