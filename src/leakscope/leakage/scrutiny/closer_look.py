"""Look closer at the unique sequences: the public model's opinion, the least context, other
contexts, personal data; and at what the interface is worth on validation words.
"""

from dataclasses import dataclass

import numpy as np

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import only_warnings
from leakscope.leakage.asking.asked_model import AskedModel
from leakscope.leakage.asking.least_context import LeastContexts, ask_least_contexts
from leakscope.leakage.asking.other_contexts import OtherContexts, try_other_contexts
from leakscope.leakage.asking.sequences_in_context import SpelledSequences
from leakscope.leakage.chance.chance_line import doubts_about
from leakscope.leakage.scrutiny.chance_evidence import ChanceEvidence
from leakscope.leakage.scrutiny.findings import UniqueFindings
from leakscope.leakage.scrutiny.personal_data_tags import personal_data
from leakscope.leakage.scrutiny.public_stage import PublicJudge
from leakscope.leakage.scrutiny.public_surprise import PublicAnswers, Ratios, ratios
from leakscope.leakage.scrutiny.sampled_figures import sampled_figures
from leakscope.leakage.scrutiny.validation_answers import ValidationAnswers
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.leakage.sequences.distinct import Sequences, examples
from leakscope.records.documents import BoolArray, LongArray
from leakscope.records.measured import Measured
from leakscope.records.models.model_figures import ModelFigures
from leakscope.records.ragged import row_sums
from leakscope.records.runs.report_settings import ReportSettings

OCCURRENCES = 100
"""Occurrences of a unique sequence whose contexts are tried, shortest first."""
ELSEWHERE = 1000
"""Unique sequences to try elsewhere where none are looked at for their least context."""
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
    model: AskedModel,
    judge: PublicJudge | None,
    corpus: Corpus,
    settings: ReportSettings,
    counted: CountedSequences,
    evidence: ChanceEvidence,
    *,
    measure: bool = False,
) -> CloserLook:
    """`model` is the one under audit, `judge` the public one; `evidence` says what is chance.
    `measure`: nobody has measured the model's perplexities yet.
    """
    members, sequences, progress = counted.members, counted.sequences, model.progress
    progress("look closer", 0, 1)
    sampled = sampled_figures(model, corpus, settings, measure=measure)
    answers, figures, notices = sampled.answers, sampled.figures, sampled.notices
    if notices:
        evidence = evidence.of_documents_not_held_out()
    rate = settings.false_discovery_rate
    if not sequences.unique.any():
        nothing = None if judge is None else ratios(members, sequences, PublicAnswers.none())
        findings = UniqueFindings(ratios=nothing, tags={}, chance=evidence.line(counted, rate))
        progress("look closer", 1, 1)
        return CloserLook(findings, answers, figures, notices)
    said, ratio, predicted, chance = None, None, None, None
    chosen = sequences.members_of(sequences.unique)
    if judge is not None:
        said = judge.answers(members, chosen)
        ratio = ratios(members, sequences, said)
        predicted = _predicted(judge, counted, chosen, settings.top_k)
        evidence = evidence.judged(judge, settings.top_k)
        chance = evidence.line(counted, rate, ratio.of_sequence)
        figures = figures.updated(_unknown(judge, counted))
    most = settings.least_context or (ELSEWHERE if settings.elsewhere else 0)
    rows = _worth_a_look(sequences, ratio, most)
    least, outside = _contexts(model, corpus, settings, counted, rows)
    tags = personal_data(
        corpus,
        members,
        sequences,
        chosen,
        settings.phone_region,
        model.engine,
        model.work,
        only_warnings(progress),
    )
    chance = evidence.line(counted, rate) if chance is None else chance
    progress("look closer", 1, 1, f"{len(rows)} sequences")
    findings = UniqueFindings(said, ratio, rows, least, outside, tags, predicted, chance)
    notices = (*notices, *evidence.doubts, *doubts_about(chance, counted))
    return CloserLook(findings, answers, figures, notices)


def _predicted(
    judge: PublicJudge, counted: CountedSequences, chosen: LongArray, k: int
) -> BoolArray:
    """[s] whether the public model predicts a sequence in one of its places."""
    hits = judge.predictions(counted.members, chosen, k)
    found = np.zeros(len(counted.sequences), np.bool_)
    found[counted.sequences.of_member[chosen[hits]]] = True
    return found


def _contexts(
    model: AskedModel,
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
    documents = corpus.documents(texts=model.reads_text)
    spelled = SpelledSequences.spell(
        rows, members, sequences, listed, counted.trie, documents, CONTEXT_WORDS
    )
    if settings.least_context:
        least = ask_least_contexts(model, spelled, settings.top_k, CONTEXT_WORDS)
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


def _unknown(public: PublicJudge, counted: CountedSequences) -> ModelFigures:
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
