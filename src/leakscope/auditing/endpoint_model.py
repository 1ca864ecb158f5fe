"""Reports on models behind an endpoint."""

from pathlib import Path

from leakscope.auditing.known_figures import ASK, TEXT_ONLY
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.leakage.subject import Subject
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.models.interface import LanguageModel
from leakscope.models.remote.answer_cache import Answers
from leakscope.models.remote.client import Client
from leakscope.models.remote.endpoint import Endpoint, RequestLimits
from leakscope.models.remote.handshake import remote_model
from leakscope.records.artifacts import digest_of
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.audited_model import EndpointRecord
from leakscope.records.models.model_figures import ModelFigures
from leakscope.records.runs.report_settings import ReportSettings


class Connection:
    """The connection to a served model, made when it is first needed and then kept."""

    def __init__(
        self,
        endpoint: Endpoint,
        limits: RequestLimits,
        answers: Path,
        corpus: Corpus,
        progress: Progress,
    ) -> None:
        """`answers`: a directory where answers are kept and found again."""
        self._endpoint, self._limits, self._answers = endpoint, limits, answers
        self._corpus, self._progress = corpus, progress
        self._client: Client | None = None
        self._model: LanguageModel | None = None

    def __call__(self) -> LanguageModel:
        """The model, checked."""
        if self._model is None:
            self._client = Client(
                self._endpoint, self._limits, Answers(self._answers), self._progress
            )
            self._model = remote_model(self._client).reading(self._corpus.lexicon)
        return self._model

    def confirm(self) -> None:
        """Raise if the model is no longer the one that gave the answers."""
        self()  # a run that was killed after its last question has not been checked
        if self._client is not None:
            self._client.confirm()

    def close(self) -> None:
        """Hang up."""
        if self._client is not None:
            self._client.close()


def served_subject(endpoint: Endpoint, connection: Connection, name: str | None) -> Subject:
    """A served model, as a report needs to know it. Its weights are not known, so it goes by its
    address and name.
    """
    return Subject(
        name=name or endpoint.model,
        digest=digest_of(endpoint.record()),
        config=EndpointRecord.model_validate(endpoint.record()),
        load=connection,
        identity=AnswerIdentity(digest_of(endpoint.record()), "served", packages=("numpy",)),
        figures=ModelFigures.without_training(TEXT_ONLY if endpoint.mode == "text" else ASK),
        measured=False,
        confirm=connection.confirm,
    )


def check_served(
    endpoint: Endpoint, settings: ReportSettings, *, public: bool, block_list: bool, workers: int
) -> None:
    """Refuse what cannot be asked of an endpoint, before anything is asked."""
    if workers > 1:
        raise LeakscopeError("An endpoint is asked by one process; give --concurrency instead.")
    if block_list:
        raise LeakscopeError("A block list stands before a model that runs here, not an endpoint.")
    if endpoint.mode != "text":
        return
    if settings.top_k != 1:
        raise LeakscopeError("A text-only endpoint shows its best continuation: top-k is 1.")
    if public or settings.confidence is not None or settings.full_perplexity:
        raise LeakscopeError(
            "A text-only endpoint tells no probabilities: leave out --public, --confidence and "
            "--full-perplexity."
        )
