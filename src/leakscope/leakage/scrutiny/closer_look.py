"""Look closer at the unique sequences: the public model's opinion, the least context, other
contexts, personal data; and at what the interface is worth on validation words.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.hardening.stored_run import Validation
from leakscope.leakage.scrutiny.findings import Findings
from leakscope.leakage.scrutiny.least_context import Unique, least_contexts
from leakscope.leakage.scrutiny.other_contexts import elsewhere
from leakscope.leakage.scrutiny.personal_data_tags import personal_data
from leakscope.leakage.scrutiny.public_surprise import Public, Ratios, Surprise, ratios, surprise
from leakscope.leakage.scrutiny.validation_answers import validation_answers
from leakscope.leakage.sequences.distinct import Members, Sequences, examples
from leakscope.models.evaluation import perplexity_of
from leakscope.models.interface import LanguageModel
from leakscope.models.wrappers.hardened import is_silent
from leakscope.records.documents import LongArray
from leakscope.records.report_settings import ReportSettings

OCCURRENCES = 100
"""Occurrences of a unique sequence whose contexts are tried, shortest first."""
ELSEWHERE = 1000
"""Unique sequences to try elsewhere where none are looked at for their least context."""
CONTEXT_WORDS = 48
"""Longest suffix of a context that is tried as the least one."""


@dataclass(frozen=True)
class Found:
    """What the closer look gave."""

    findings: Findings
    answers: Validation | None
    figures: dict[str, Any] = field(default_factory=dict)
    """Metrics by name, with `reasons`."""


def scrutinize(
    load: Callable[[], LanguageModel],
    judge: Public | None,
    corpus: Corpus,
    settings: ReportSettings,
    members: Members,
    sequences: Sequences,
    trie: Trie,
    progress: Progress,
    *,
    measure: bool = False,
) -> Found:
    """`load` brings the model under audit, `judge` is the public one; `measure`: nobody has
    measured the model on validation words yet.
    """
    model = load()
    progress("look closer", 0, 1)
    answers = validation_answers(model, corpus, settings.validation_words, settings.top_k)
    figures = _use(answers, settings)
    if measure and not settings.hardened:
        figures |= _quality(answers, settings)
    if not sequences.unique.any():
        nothing = None if judge is None else ratios(members, sequences, Surprise.none())
        progress("look closer", 1, 1)
        return Found(Findings(ratios=nothing, tags={}), answers, figures)
    said, ratio = None, None
    chosen = np.flatnonzero(sequences.unique[sequences.of_member])
    if judge is not None:
        public = judge.load()
        said = surprise(public, corpus.documents(texts=public.needs_text), members, chosen)
        ratio = ratios(members, sequences, said)
        figures["public_unknown_sequences"] = _unknown(public, sequences, trie)
    most = settings.least_context or (ELSEWHERE if settings.elsewhere else 0)
    rows = _worth_a_look(sequences, ratio, most)
    least, outside = None, None
    if len(rows):
        listed = examples(members, sequences, OCCURRENCES)
        documents = corpus.documents(texts=model.needs_text)
        unique = Unique(rows, members, sequences, listed, trie, documents, CONTEXT_WORDS)
        if settings.least_context:
            least = least_contexts(model, unique, settings.top_k, CONTEXT_WORDS)
        if settings.elsewhere:
            outside = elsewhere(
                model,
                unique,
                corpus.documents(),
                top_k=settings.top_k,
                budget=settings.elsewhere,
                words=corpus.manifest.lexicon,
            )
    tags = personal_data(corpus, members, sequences, chosen, settings.phone_region)
    progress("look closer", 1, 1, f"{len(rows)} sequences")
    return Found(Findings(said, ratio, rows, least, outside, tags), answers, figures)


def _worth_a_look(sequences: Sequences, ratio: Ratios | None, most: int) -> LongArray:
    """At most `most` unique sequences: the largest ratios first, then the longest."""
    unique = np.flatnonzero(sequences.unique)
    size = np.zeros(len(unique)) if ratio is None else -ratio.of_sequence[unique]
    order = np.lexsort((unique, -sequences.lengths[unique], size))
    return np.sort(unique[order[:most]])


def _unknown(public: LanguageModel, sequences: Sequences, trie: Trie) -> int | None:
    """How many unique sequences have a word that the public model does not know."""
    offsets, ids = trie.sequences(sequences.nodes[sequences.unique])
    known = public.knows(ids)
    if known is None:
        return None
    missing = np.concatenate([[0], np.cumsum(~known)])
    return int((missing[offsets[1:]] > missing[offsets[:-1]]).sum())


def _quality(answers: Validation | None, settings: ReportSettings) -> dict[str, Any]:
    """Perplexity and accuracy on the validation words."""
    top_k = settings.top_k
    asked = "the corpus has no validation documents"
    none = asked if settings.validation_words else "it was not asked for"
    if answers is None or answers.log_prob is None:
        names = ("validation_perplexity", "validation_accuracy")
        return {"reasons": dict.fromkeys(names, none)}
    accuracy = {top_k: float((answers.rank < top_k).mean())}
    if np.isnan(answers.log_prob).any():
        why = {"validation_perplexity": "the model tells no probabilities"}
        return {"validation_accuracy": accuracy, "reasons": why}
    mean = -float(answers.log_prob.mean(dtype=np.float64))
    return {"validation_perplexity": perplexity_of(mean), "validation_accuracy": accuracy}


def _use(answers: Validation | None, settings: ReportSettings) -> dict[str, Any]:
    """What a hardened interface is worth; of a plain one the training has told."""
    if not settings.hardened:
        return {"answered": 1.0}
    why = {"validation_perplexity": "an interface that hides answers has no perplexity"}
    figures: dict[str, Any] = {"validation_perplexity": None, "reasons": why}
    if answers is None:
        none = "the corpus has no validation documents"
        unmeasured = dict.fromkeys(("validation_accuracy", "answered"), none)
        return figures | {"validation_accuracy": None, "reasons": why | unmeasured}
    shown = np.ones(len(answers.rank), np.bool_)
    if settings.confidence is not None:
        shown = ~is_silent(answers.top_log_prob, settings.confidence)
    accuracy = {settings.top_k: float((answers.rank < settings.top_k).mean())}
    return figures | {"validation_accuracy": accuracy, "answered": float(shown.mean())}
