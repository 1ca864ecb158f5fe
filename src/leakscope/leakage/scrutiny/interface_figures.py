"""What the interface is worth to its users: figures from the answers on validation words."""

import numpy as np

from leakscope.leakage.scrutiny.validation_answers import ValidationAnswers
from leakscope.models.evaluation import perplexity_of
from leakscope.models.wrappers.hardened import is_silent
from leakscope.records.measured import Measured
from leakscope.records.models.model_figures import ModelFigures
from leakscope.records.runs.report_settings import ReportSettings

NO_VALIDATION = "the corpus has no validation documents"
NONE_HELD_OUT = "the model was trained on all documents, so that none is held out"
HIDDEN = "an interface that hides answers has no perplexity"
BEYOND = "the loss is beyond any number"


def figures_of_answers(
    answers: ValidationAnswers | None, settings: ReportSettings, *, measure: bool
) -> ModelFigures:
    """Figures of a hardened interface; of a plain one only if asked to `measure`, since the
    training has told them otherwise.
    """
    if settings.hardened:
        return _hardened(answers, settings)
    plain = ModelFigures(answered=Measured(1.0))
    return plain.updated(_plain(answers, settings)) if measure else plain


def _plain(answers: ValidationAnswers | None, settings: ReportSettings) -> ModelFigures:
    """Perplexity and accuracy on the validation words."""
    if answers is None or answers.log_prob is None:
        none = _none_held_out(settings)
        return ModelFigures(
            validation_perplexity=Measured.absent(none), validation_accuracy=Measured.absent(none)
        )
    perplexity: Measured[float] = Measured.absent("the model tells no probabilities")
    if not np.isnan(answers.log_prob).any():
        mean = -float(answers.log_prob.mean(dtype=np.float64))
        perplexity = Measured.of(perplexity_of(mean), BEYOND)
    return ModelFigures(
        validation_perplexity=perplexity, validation_accuracy=_accuracy(answers, settings)
    )


def _hardened(answers: ValidationAnswers | None, settings: ReportSettings) -> ModelFigures:
    """What an interface that hides answers still shows."""
    perplexity: Measured[float] = Measured.absent(HIDDEN)
    if answers is None:
        none = _none_held_out(settings)
        return ModelFigures(
            validation_perplexity=perplexity,
            validation_accuracy=Measured.absent(none),
            answered=Measured.absent(none),
        )
    shown = np.ones(len(answers.rank), np.bool_)
    if settings.confidence is not None:
        shown = ~is_silent(answers.top_log_prob, settings.confidence)
    return ModelFigures(
        validation_perplexity=perplexity,
        validation_accuracy=_accuracy(answers, settings),
        answered=Measured(float(shown.mean())),
    )


def _none_held_out(settings: ReportSettings) -> str:
    """Why there are no answers on validation words."""
    if settings.trained_on == "all":
        return NONE_HELD_OUT
    return NO_VALIDATION if settings.validation_words else "it was not asked for"


def _accuracy(answers: ValidationAnswers, settings: ReportSettings) -> Measured[dict[int, float]]:
    return Measured({settings.top_k: float((answers.rank < settings.top_k).mean())})
