"""Look closer at the unique sequences: the public model's opinion, the least context, other
contexts, personal data; and at what the interface is worth on validation words.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leakscope.corpus.split import VALIDATION
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.leakage.chance.chance_line import (
    ChanceLine,
    PublicOpinion,
    chance_line,
    doubts_about,
)
from leakscope.leakage.chance.decoys import Decoys
from leakscope.leakage.scrutiny.findings import UniqueFindings
from leakscope.leakage.scrutiny.least_context import (
    LeastContexts,
    SpelledSequences,
    least_contexts,
)
from leakscope.leakage.scrutiny.other_contexts import OtherContexts, try_other_contexts
from leakscope.leakage.scrutiny.personal_data_tags import personal_data
from leakscope.leakage.scrutiny.public_surprise import (
    PublicAnswers,
    PublicModel,
    Ratios,
    public_answers,
    public_predictions,
    ratios,
)
from leakscope.leakage.scrutiny.sampled_figures import sampled_figures
from leakscope.leakage.scrutiny.validation_answers import ValidationAnswers
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.leakage.sequences.distinct import Sequences, examples
from leakscope.models.interface import LanguageModel
from leakscope.records.documents import BoolArray, LongArray
from leakscope.records.measured import Measured
from leakscope.records.models.model_figures import ModelFigures
from leakscope.records.models.public_model import (
    CrossFittedModelRecord,
    PublicModelRecord,
    RetrainedModelRecord,
)
from leakscope.records.ragged import row_sums
from leakscope.records.runs.report_settings import ReportSettings

OCCURRENCES = 100
"""Occurrences of a unique sequence whose contexts are tried, shortest first."""
ELSEWHERE = 1000
"""Unique sequences to try elsewhere where none are looked at for their least context."""
NO_DECOYS: Measured[Decoys] = Measured.absent("no held-out documents were read")
NOT_HELD_OUT = "the model was probably trained on the held-out documents too"
CONTEXT_WORDS = 48
"""Longest suffix of a context that is tried as the least one."""


@dataclass(frozen=True)
class CloserLook:
    """What the closer look gave."""

    findings: UniqueFindings
    answers: ValidationAnswers | None
    figures: ModelFigures
    notices: tuple[str, ...] = ()
    """See `Metrics.notices`."""


def look_closer(
    load: Callable[[], LanguageModel],
    judge: PublicModel | None,
    corpus: Corpus,
    settings: ReportSettings,
    counted: CountedSequences,
    progress: Progress,
    *,
    decoys: Measured[Decoys] = NO_DECOYS,
    measure: bool = False,
) -> CloserLook:
    """`load` brings the model under audit, `judge` is the public one; `measure`: nobody has
    measured the model's perplexities yet.
    """
    model, members, sequences = load(), counted.members, counted.sequences
    progress("look closer", 0, 1)
    sampled = sampled_figures(model, corpus, settings, measure=measure)
    answers, figures, notices = sampled.answers, sampled.figures, sampled.notices
    if notices:
        decoys = Measured.absent(NOT_HELD_OUT)
    if not sequences.unique.any():
        nothing = None if judge is None else ratios(members, sequences, PublicAnswers.none())
        findings = UniqueFindings(
            ratios=nothing, tags={}, chance=_chance(settings, counted, decoys)
        )
        progress("look closer", 1, 1)
        return CloserLook(findings, answers, figures, notices)
    said, ratio, predicted, theirs = None, None, None, None
    chosen = np.flatnonzero(sequences.unique[sequences.of_member])
    if judge is not None:
        public = judge.load()
        said = public_answers(public, corpus.documents(texts=public.needs_text), members, chosen)
        ratio = ratios(members, sequences, said)
        predicted = _predicted(public, corpus, counted, chosen, settings.top_k)
        alike = _trained_alike(judge.record)
        theirs = _opinion(public, corpus, settings.top_k, ratio, decoys.value, alike=alike)
        figures = figures.updated(_unknown(public, counted))
    most = settings.least_context or (ELSEWHERE if settings.elsewhere else 0)
    rows = _worth_a_look(sequences, ratio, most)
    least, outside = _contexts(model, corpus, settings, counted, rows)
    tags = personal_data(corpus, members, sequences, chosen, settings.phone_region)
    chance = _chance(settings, counted, decoys, theirs)
    progress("look closer", 1, 1, f"{len(rows)} sequences")
    findings = UniqueFindings(said, ratio, rows, least, outside, tags, predicted, chance)
    return CloserLook(findings, answers, figures, (*notices, *doubts_about(chance, counted)))


def _trained_alike(record: PublicModelRecord) -> bool:
    """Whether the public model was trained as the audited one was, without the users it judges."""
    if isinstance(record, CrossFittedModelRecord):
        return record.trained_like_the_audited_model is not False
    return isinstance(record, RetrainedModelRecord)


def _predicted(
    public: LanguageModel, corpus: Corpus, counted: CountedSequences, chosen: LongArray, k: int
) -> BoolArray:
    """[s] whether the public model predicts a sequence in one of its places."""
    documents = corpus.documents(texts=public.needs_text)
    hits = public_predictions(public, documents, counted.members, chosen, k)
    found = np.zeros(len(counted.sequences), np.bool_)
    found[counted.sequences.of_member[chosen[hits]]] = True
    return found


def _opinion(
    public: LanguageModel,
    corpus: Corpus,
    top_k: int,
    ratio: Ratios,
    decoys: Decoys | None,
    *,
    alike: bool,
) -> PublicOpinion | None:
    """What the public model says of the decoys; `alike`: it was trained as the model was, without
    the users in question.
    """
    if decoys is None:
        return None
    members, chosen = decoys.members, decoys.chosen
    documents = corpus.documents(VALIDATION, texts=public.needs_text)
    said = public_answers(public, documents, members, chosen)
    ratios = said.perplexities() / members.perplexities[chosen]
    predicts = None
    if alike:
        documents = corpus.documents(VALIDATION, texts=public.needs_text)
        predicts = public_predictions(public, documents, members, chosen, top_k)
    return PublicOpinion(ratio.of_sequence, ratios, predicts)


def _chance(
    settings: ReportSettings,
    counted: CountedSequences,
    decoys: Measured[Decoys],
    theirs: PublicOpinion | None = None,
) -> Measured[ChanceLine]:
    if decoys.value is None:
        return Measured(None, decoys.reason)
    rate = settings.false_discovery_rate
    return Measured(chance_line(counted, decoys.value, rate, theirs))


def _contexts(
    model: LanguageModel,
    corpus: Corpus,
    settings: ReportSettings,
    counted: CountedSequences,
    rows: LongArray,
) -> tuple[LeastContexts | None, OtherContexts | None]:
    """The least contexts of the sequences `rows`, and what other contexts bring out."""
    least, outside = None, None
    if not len(rows):
        return least, outside
    members, sequences = counted.members, counted.sequences
    listed = examples(members, sequences, OCCURRENCES)
    documents = corpus.documents(texts=model.needs_text)
    spelled = SpelledSequences(
        rows, members, sequences, listed, counted.trie, documents, CONTEXT_WORDS
    )
    if settings.least_context:
        least = least_contexts(model, spelled, settings.top_k, CONTEXT_WORDS)
    if settings.elsewhere:
        outside = try_other_contexts(
            model,
            spelled,
            corpus.documents(),
            top_k=settings.top_k,
            budget=settings.elsewhere,
            words=corpus.manifest.lexicon,
        )
    return least, outside


def _worth_a_look(sequences: Sequences, ratio: Ratios | None, most: int) -> LongArray:
    """At most `most` unique sequences: the largest ratios first, then the longest."""
    unique = np.flatnonzero(sequences.unique)
    size = np.zeros(len(unique)) if ratio is None else -ratio.of_sequence[unique]
    order = np.lexsort((unique, -sequences.lengths[unique], size))
    return np.sort(unique[order[:most]])


def _unknown(public: LanguageModel, counted: CountedSequences) -> ModelFigures:
    """How many unique sequences have a word that the public model does not know."""
    sequences = counted.sequences
    offsets, ids = counted.trie.sequences(sequences.nodes[sequences.unique])
    known = public.knows(ids)
    return ModelFigures(
        public_unknown_sequences=Measured.of(
            None if known is None else int((row_sums(~known, offsets) > 0).sum()),
            "this kind of model does not tell which words it knows",
        )
    )
