"""Models in memory as the subject of a report."""

from collections.abc import Callable

from leakscope.leakage.subject import Subject
from leakscope.models.interface import LanguageModel
from leakscope.records.models.audited_model import CallersNetworkRecord, NetworkShape
from leakscope.records.models.model_figures import ModelFigures


def subject_of(
    load: Callable[[], LanguageModel], name: str = "m", figures: ModelFigures | None = None
) -> Subject:
    """A subject of which nothing is known but how to load it."""
    config = CallersNetworkRecord(architecture=NetworkShape(kind="scripted"))
    return Subject(name, "digest", config, load, figures or ModelFigures())
