"""What a run's manifest says of the model under audit: a record for each kind of model."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Tag

from leakscope.records.models.mitigation_record import MitigationRecord
from leakscope.records.models.model_config import AnyMitigation, ModelConfig
from leakscope.records.sparse_record import SparseRecord


class NetworkShape(SparseRecord):
    """A network in a few words, as far as its files tell."""

    kind: str
    layers: int | None = None
    hidden: int | None = None


class HubOrigin(BaseModel):
    """Where on the hub a model comes from."""

    model_config = ConfigDict(frozen=True)

    name: str
    commit: str


class ChatTemplate(BaseModel):
    """The chat template that documents were read through."""

    model_config = ConfigDict(frozen=True)

    role: str
    """Whose message each document is."""
    digest: str
    altered_documents: int
    """Documents that the template would change beyond white space at their ends; they are read
    unchanged instead."""


class TrainingProgress(BaseModel):
    """How far a training has come, as far as the model tells."""

    model_config = ConfigDict(frozen=True)

    step: int | None = None
    epoch: float | None = None


class CausalModelRecord(SparseRecord):
    """A causal model from elsewhere: Hugging Face, an adapter, GGUF."""

    kind: Literal["causal"] = "causal"
    dtype: str | None = None
    """What it computes in."""
    hub: HubOrigin | None = None
    base: str | None = None
    """The name of the model that an adapter belongs to."""
    base_digest: str | None = None
    """Of everything that decides what that model says."""
    base_hub: HubOrigin | None = None
    """Where on the hub it comes from."""
    architecture: NetworkShape | None = None
    chat_template: ChatTemplate | None = None
    mitigation: AnyMitigation | None = None
    """What its training did against leakage, by a record beside its weights."""
    mitigation_unknown: str | None = None
    """Why such a record says nothing of this model."""


class CallersNetworkRecord(BaseModel):
    """A network in memory, handed over by the caller while it is being trained."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["causal"] = "causal"
    architecture: NetworkShape
    training: dict[str, Any] = {"by": "the caller"}
    progress: TrainingProgress = TrainingProgress()


class EndpointRecord(BaseModel):
    """A model behind an endpoint."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["endpoint"] = "endpoint"
    architecture: NetworkShape = NetworkShape(kind="endpoint")
    url: str
    model: str
    """The name by which the server knows the model."""
    mode: Literal["log-probs", "text"] = "log-probs"
    begin: str | None = None
    prompt_words: int = 1000
    extra: dict[str, Any] = {}


def _tag(given: Any) -> str:
    """Which of the records `given`, a record or its JSON, is."""
    if not isinstance(given, dict):
        return type(given).__name__
    kind = given.get("kind")
    if kind == "causal":
        trained_here = "training" in given
        return CallersNetworkRecord.__name__ if trained_here else CausalModelRecord.__name__
    return {"word": ModelConfig, "endpoint": EndpointRecord}.get(str(kind), BaseModel).__name__


AuditedModel = Annotated[
    Annotated[ModelConfig, Tag("ModelConfig")]
    | Annotated[CausalModelRecord, Tag("CausalModelRecord")]
    | Annotated[CallersNetworkRecord, Tag("CallersNetworkRecord")]
    | Annotated[EndpointRecord, Tag("EndpointRecord")],
    Discriminator(
        _tag,
        custom_error_type="unknown_model",
        custom_error_message="It is no kind of model that this version knows",
    ),
]


def shape_of(model: AuditedModel) -> NetworkShape | None:
    """The network's shape; None where nothing is known of it."""
    if isinstance(model, ModelConfig):
        return NetworkShape.model_validate(model.architecture)
    return model.architecture


def progress_of(model: AuditedModel) -> TrainingProgress:
    """How far the model's training has come; empty where it does not tell."""
    if isinstance(model, ModelConfig):
        return TrainingProgress.model_validate(model.progress)
    return model.progress if isinstance(model, CallersNetworkRecord) else TrainingProgress()


def training_of(model: AuditedModel) -> dict[str, Any]:
    """The settings of the model's training by name; empty where they are not known."""
    if isinstance(model, ModelConfig | CallersNetworkRecord):
        return model.training
    return {}


def mitigation_of(model: AuditedModel) -> MitigationRecord | None:
    """What the model's training did against leakage; None where the model does not tell."""
    return model.mitigation if isinstance(model, ModelConfig | CausalModelRecord) else None


def why_unknown(model: AuditedModel) -> str | None:
    """Why the record that came with a model says nothing of it; None where there is none."""
    return model.mitigation_unknown if isinstance(model, CausalModelRecord) else None
