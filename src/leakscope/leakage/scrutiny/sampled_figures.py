"""Perplexities and accuracies on samples of documents, and what they give reason to doubt."""

from dataclasses import dataclass

import numpy as np

from leakscope.corpus.store import Corpus
from leakscope.leakage.asking.asked_model import AskedModel
from leakscope.leakage.asking.document_sample import ScoredSample, drawn, scored
from leakscope.leakage.scrutiny.held_out_memory import memory_of, suspicion
from leakscope.leakage.scrutiny.interface_figures import BEYOND, HIDDEN, figures_of_answers
from leakscope.leakage.scrutiny.validation_answers import ValidationAnswers, validation_answers
from leakscope.models.evaluation import evaluation_of
from leakscope.records.measured import Measured
from leakscope.records.models.model_figures import ModelFigures
from leakscope.records.runs.report_settings import ReportSettings

TRAINING_WORDS = 50_000
"""Words of the sample that the training perplexity of a model from elsewhere is measured on."""
ONE_DOCUMENT = "one document says nothing of how documents vary"
UNTOLD = "the model tells no probabilities"


@dataclass(frozen=True)
class SampledFigures:
    """What the samples gave."""

    answers: ValidationAnswers | None
    figures: ModelFigures
    notices: tuple[str, ...] = ()
    """What to bear in mind, a sentence each."""


def sampled_figures(
    model: AskedModel, corpus: Corpus, settings: ReportSettings, *, measure: bool
) -> SampledFigures:
    """The answers on validation words and their figures. `measure`: nobody has measured the model
    yet, since it was not trained here; then on training words, too.
    """
    held = validation_answers(model, corpus, settings.validation_words, settings.top_k)
    answers = None if held is None else held[0]
    figures = figures_of_answers(answers, settings, measure=measure)
    if not measure:
        return SampledFigures(answers, figures)
    if settings.hardened:
        hidden: Measured[float] = Measured.absent(HIDDEN)
        return SampledFigures(answers, ModelFigures(hidden, hidden, hidden).updated(figures))
    rng = np.random.default_rng(1)
    some = drawn(corpus.documents(texts=model.reads_text), TRAINING_WORDS, rng)
    training = ScoredSample(some, scored(model, [some], settings.top_k))
    figures = figures.updated(_training_figures(training, settings.top_k))
    notices = () if held is None else _notices(training, held[1], corpus, figures)
    return SampledFigures(answers, figures, notices)


def _training_figures(sample: ScoredSample, top_k: int) -> ModelFigures:
    """The training perplexity with the ends of its interval, if the model tells probabilities."""
    if np.isnan(sample.scores.log_prob).any():
        return ModelFigures()
    found = evaluation_of([(sample.documents, sample.scores)], (top_k,))
    alone = ONE_DOCUMENT if len(sample.documents) < 2 else BEYOND
    return ModelFigures(
        Measured.of(found.perplexity, BEYOND),
        Measured.of(found.low, alone),
        Measured.of(found.high, alone),
    )


def _notices(
    training: ScoredSample, held_out: ScoredSample, corpus: Corpus, figures: ModelFigures
) -> tuple[str, ...]:
    trained, held = memory_of(training, held_out, corpus.documents())
    if not suspicion(trained, held):
        return ()
    known = [
        f"{part} perplexity {value:.3g}"
        for part, value in (
            ("validation", figures.validation_perplexity.value),
            ("training", figures.train_perplexity.value),
        )
        if value is not None
    ]
    told = f" ({', '.join(known)})" if known else ""
    return (
        f"The model completes {held.share:.0%} of the word pairs that stand in one held-out "
        f"document alone, about as many as of those in one training document alone "
        f"({trained.share:.0%}){told}: it was probably trained on the held-out documents too. If "
        f"so, make the report with --trained-on all.",
    )
