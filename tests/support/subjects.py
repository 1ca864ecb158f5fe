"""Models in memory as the subject of a report."""

from collections.abc import Callable
from pathlib import Path

from leakscope.engine.local_engine import LocalEngine
from leakscope.engine.progress import silent
from leakscope.leakage.asking.asked_model import AskedModel, LoadedOnce
from leakscope.leakage.subject import Subject
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.models.interface import LanguageModel
from leakscope.records.models.audited_model import CallersNetworkRecord, NetworkShape
from leakscope.records.models.model_figures import ModelFigures


def subject_of(
    load: Callable[[], LanguageModel], name: str = "m", figures: ModelFigures | None = None
) -> Subject:
    """A subject of which nothing is known but how to load it."""
    config = CallersNetworkRecord(architecture=NetworkShape(kind="scripted"))
    return Subject(
        name, "digest", config, load, AnswerIdentity("digest"), figures or ModelFigures()
    )


def asked(model: LanguageModel, folder: Path) -> AskedModel:
    """The model as questions reach it, in this process."""
    return AskedModel(LoadedOnce(lambda: model), {}, True, LocalEngine(), folder, silent)
