"""Whether a report has measured anything. A model that was never really asked, or that knows
nothing of its training data, gives a clean report for the wrong reason.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leakscope.corpus.store import Corpus
from leakscope.leakage.asking.asked_model import AskedModel
from leakscope.leakage.asking.document_sample import scored
from leakscope.models.evaluation import perplexity_of
from leakscope.records.documents import FloatArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_metrics import Metrics

SAMPLE_WORDS = 2000
"""Training words on which a model that found little is asked for every probability."""
WORDS_OF_A_DOCUMENT = 10 * SAMPLE_WORDS
"""So many words of a document are asked about at most, where it can be cut."""
NOISE = 3.0
"""Standard deviations above chance up to which the perplexity decides whether it is chance."""
CHECK = "check that the model, its tokenizer and the corpus belong together"


@dataclass(frozen=True)
class TrainingSample:
    """What a model without any hardening says of some training words."""

    words: int
    correct: int
    loss: float | None
    """Mean of -log p per word; None: the model tells no probabilities."""
    top_k: int

    @property
    def unasked(self) -> bool:
        """Whether most wrong words had no prediction: a word that is not among the top k has at
        most probability 1 / (k + 1), while one that could not be asked counts as certain.
        """
        wrong = (self.words - self.correct) / max(self.words, 1)
        return self.loss is not None and self.loss < 0.5 * wrong * math.log(self.top_k + 1)


def sample_of(model: AskedModel, corpus: Corpus, top_k: int) -> TrainingSample:
    """Ask the model for the probability of every word of the first training documents; of huge
    ones, for those of their beginning, unless the model reads their text.
    """
    first, words = [], 0
    for documents in corpus.documents(texts=model.reads_text):
        ends = words + documents.offsets[1:]
        some = documents.take(np.flatnonzero(ends - documents.lengths() < SAMPLE_WORDS))
        if not model.reads_text:
            some = some.cut(np.minimum(some.lengths(), WORDS_OF_A_DOCUMENT))
        first.append(some)
        words += int(documents.offsets[-1])
        if words >= SAMPLE_WORDS:
            break
    found = scored(model, first, top_k)
    correct = int((found.rank < top_k).sum())
    return TrainingSample(len(found.rank), correct, _loss(found.log_prob), top_k)


def warnings_about(
    metrics: Metrics,
    settings: ReportSettings,
    vocabulary: int,
    sample: Callable[[], TrainingSample],
) -> tuple[str, ...]:
    """What makes a report's numbers worthless, a sentence each; raises where nothing was measured
    or a figure is impossible. `sample` is asked only where few words were correct, of the model
    without a confidence threshold.

    The validation perplexity is no sign of chance: it grows without bound as a model memorizes.
    """
    _check_possible(metrics, hidden=settings.hardened)
    seen = TrainingSample(metrics.asked.words, metrics.correct_words, None, metrics.top_k)
    perplexity, at_chance = metrics.train_perplexity, False
    if seen.correct <= _chance(seen, vocabulary, NOISE):
        found = sample()
        if settings.block_list is None:  # it hides words that the model is sure of
            if found.unasked:
                return (_unasked(found),)
            seen = found if settings.hardened else seen
            at_chance = seen.correct <= _chance(seen, vocabulary)
        if perplexity is None and found.loss is not None:
            perplexity = perplexity_of(found.loss) or math.inf
        at_chance = at_chance or perplexity is None
    if at_chance or (perplexity is not None and perplexity >= vocabulary):
        return (_by_chance(seen, vocabulary, perplexity),)
    return ()


def _chance(seen: TrainingSample, vocabulary: int, deviations: float = 0.0) -> float:
    """How many words would be correct by guessing, and so many standard deviations more."""
    expected = seen.words * min(1.0, seen.top_k / max(vocabulary, 1))
    return expected + deviations * math.sqrt(expected)


def _unasked(found: TrainingSample) -> str:
    """The warning that most words had no prediction; an error if none had one."""
    if not found.correct:
        raise LeakscopeError(
            "The model had no prediction for its training words, so there is nothing to report; "
            f"{CHECK}."
        )
    return _sentence("The model had no prediction for most of its training words")


def _check_possible(metrics: Metrics, *, hidden: bool) -> None:
    """Refuse perplexities that no model has: a wrong word costs at least log(k + 1). `hidden`: the
    interface hides correct words.
    """
    right = {
        "train": metrics.correct_words / max(metrics.asked.words, 1),
        "validation": (metrics.validation_accuracy or {}).get(metrics.top_k),
    }
    for part, accuracy in right.items():
        perplexity = getattr(metrics, f"{part}_perplexity")
        if perplexity is None:
            continue
        nothing = accuracy == 0 and not hidden and perplexity < math.sqrt(metrics.top_k + 1)
        if math.isnan(perplexity) or perplexity < 1 - 1e-6 or nothing:
            known = "" if not nothing else " with no correct word"
            raise LeakscopeError(
                f"The model's {part} perplexity is {perplexity:.6g}{known}, which no model can "
                f"have, so nothing was measured; {CHECK}."
            )


def _by_chance(seen: TrainingSample, vocabulary: int, perplexity: float | None) -> str:
    told = "" if perplexity is None else f"perplexity {perplexity:,.6g}, "
    return _sentence(
        "The model predicts its training data no better than chance "
        f"({seen.correct:,} of {seen.words:,} words correct, {told}"
        f"{vocabulary:,} words to choose from)"
    )


def _sentence(finding: str) -> str:
    return f"{finding}, so this report says nothing about what it gives away; {CHECK}."


def no_probability() -> LeakscopeError:
    """The error of a model whose probabilities are not all numbers."""
    return LeakscopeError(
        "The model gave no number as the probability of some training words; save it again from "
        "a sound checkpoint, or try dtype float32."
    )


def _loss(log_prob: FloatArray) -> float | None:
    """The mean of -log p; None if none is told. Some that are missing are an error."""
    missing = np.isnan(log_prob)
    if missing.all():
        return None
    if missing.any():
        raise no_probability()
    return -float(log_prob.mean(dtype=np.float64))
