"""Reports on models behind an endpoint."""

from dataclasses import dataclass, field
from pathlib import Path

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.leakage.pipeline import Subject
from leakscope.models.interface import LanguageModel
from leakscope.models.remote.answer_cache import Answers
from leakscope.models.remote.client import Client
from leakscope.models.remote.endpoint import Endpoint, RequestLimits
from leakscope.models.remote.handshake import remote_model
from leakscope.records.artifacts import digest_of
from leakscope.records.errors import LeakscopeError
from leakscope.records.report_settings import ReportSettings

_TRAINING = ("train_perplexity", "train_perplexity_low", "train_perplexity_high")


@dataclass(frozen=True)
class Served:
    """A model behind an endpoint, as `report` is told of it."""

    endpoint: Endpoint
    limits: RequestLimits = field(default_factory=RequestLimits)
    answers: Path | None = None
    """A directory where answers are kept and found again; by default they are kept with the run
    until it is finished."""


class Connection:
    """The connection to a served model, made when it is first needed and then kept."""

    def __init__(self, served: Served, corpus: Path, out: Path, progress: Progress) -> None:
        self._served, self._corpus, self._progress = served, corpus, progress
        self._folder = served.answers or out / ".work" / "answers"
        self._client: Client | None = None
        self._model: LanguageModel | None = None

    def __call__(self) -> LanguageModel:
        """The model, checked."""
        if self._model is None:
            served = self._served
            self._client = Client(
                served.endpoint, served.limits, Answers(self._folder), self._progress
            )
            found = remote_model(self._client)
            self._model = found.reading(Corpus.open(self._corpus).lexicon)
        return self._model

    def confirm(self) -> None:
        """Raise if the model is not the one any more that gave the answers."""
        self()  # a run that was killed after its last question has not been checked
        if self._client is not None:
            self._client.confirm()

    def close(self) -> None:
        """Hang up."""
        if self._client is not None:
            self._client.close()


def served_subject(served: Served, line: Connection, name: str | None) -> Subject:
    """A served model, as a report needs to know it. Its weights are not known, so it goes by its
    address and name.
    """
    endpoint = served.endpoint
    why = (
        "a text-only endpoint tells no probabilities"
        if endpoint.mode == "text"
        else "--full-perplexity would measure it"
    )
    return Subject(
        name=name or endpoint.model,
        digest=digest_of(endpoint.record()),
        config=endpoint.record(),
        load=line,
        figures={"reasons": dict.fromkeys(_TRAINING, why)},
        measured=False,
        confirm=line.confirm,
    )


def check_served(
    served: Served, settings: ReportSettings, *, public: bool, block_list: bool, workers: int
) -> None:
    """Refuse what cannot be asked of an endpoint, before anything is asked."""
    if workers > 1:
        raise LeakscopeError("An endpoint is asked by one process; give --concurrency instead.")
    if block_list:
        raise LeakscopeError("A block list stands before a model that runs here, not an endpoint.")
    if served.endpoint.mode != "text":
        return
    if settings.top_k != 1:
        raise LeakscopeError("A text-only endpoint shows its best continuation: top-k is 1.")
    if public or settings.confidence is not None or settings.full_perplexity:
        raise LeakscopeError(
            "A text-only endpoint tells no probabilities: leave out --public, --confidence and "
            "--full-perplexity."
        )
