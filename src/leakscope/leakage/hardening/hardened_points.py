"""Hardened output, from what a run has stored: S again for stricter thresholds and fewer
suggestions, without running the model.

A stricter interface only takes correct words away, so its runs are parts of the stored ones.
Whoever has a sequence has each of its parts, so no part of a sequence that is not unique is unique:
only the occurrences of unique sequences need to be looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.leakage.correct_runs.maximal_runs import MaximalRuns, maximal_runs
from leakscope.leakage.counts.counting import count
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.hardening.stored_run import StoredOccurrences, stored_unique
from leakscope.leakage.scrutiny.validation_answers import ValidationAnswers, stored_answers
from leakscope.leakage.sequences.documents_by_number import documents_holding
from leakscope.leakage.sequences.members import run_perplexities
from leakscope.models.wrappers.hardened import is_silent
from leakscope.records.artifacts import damaged
from leakscope.records.documents import BoolArray, FloatArray, IntArray, LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.audited_model import EndpointRecord
from leakscope.records.ragged import offsets_of, places_of
from leakscope.records.runs.run_manifest import open_run
from leakscope.records.unique import is_unique

THRESHOLDS = (1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0)


@dataclass(frozen=True)
class HardenedInterface:
    """One hardened interface."""

    top_k: int
    threshold: float | None
    """It is silent where 1 / p(top entry) exceeds this; None: never."""


@dataclass(frozen=True)
class HardenedPoint:
    """What a setting leaves of leakage and of use; None where the run did not measure it."""

    top_k: int
    threshold: float | None
    unique_sequences: int
    users_with_unique: int
    curated: dict[str, int] | None
    leakage_epsilon: float | None
    validation_accuracy: float | None
    answered: float | None
    """Share of validation words at which the interface suggests something."""


def harden_run(
    run: Path,
    corpus: Corpus,
    thresholds: Sequence[float] = THRESHOLDS,
    *,
    threads: int = 1,
    progress: Progress = silent,
) -> list[HardenedPoint]:
    """A point for every threshold, and for none (or the run's own), with every k up to its own."""
    manifest, metrics = open_run(run)
    if manifest.corpus_digest != corpus.manifest.digest:
        raise LeakscopeError(f"{run} is a run on another corpus than {corpus.path}.")
    corpus = corpus.trained_on(manifest.trained_on)
    if isinstance(manifest.model, EndpointRecord) and manifest.model.mode == "text":
        raise LeakscopeError(
            f"{run} is a run on a text-only endpoint, which tells no probabilities to harden by."
        )
    if any(not 1 <= value < float("inf") for value in thresholds):
        raise LeakscopeError("A threshold on 1 / p must be at least 1 and finite.")
    given = manifest.settings.confidence
    # An interface that is hardened already can only become stricter than it is.
    stricter = [value for value in sorted(thresholds) if given is None or value < given]
    settings = [
        HardenedInterface(k, value)
        for k in range(1, metrics.top_k + 1)
        for value in (*stricter, given)
    ]
    found = stored_unique(run)
    validation = stored_answers(run)
    parts = [maximal_runs(shown(found, setting), found.offsets) for setting in settings]
    progress("count", 0, 1)
    nodes, users_in_d = _count(_words(run, found, corpus), parts, corpus, threads)
    progress("count", 1, 1)
    curated = None if metrics.curated is None else list(metrics.curated)
    return [
        _point(setting, found, part, where, users_in_d, curated, validation)
        for setting, part, where in zip(settings, parts, nodes, strict=True)
    ]


def shown(found: StoredOccurrences, setting: HardenedInterface) -> BoolArray:
    """[h] which of the stored words the interface still suggests."""
    kept = found.ranks < setting.top_k
    if setting.threshold is not None:
        kept &= ~is_silent(found.top_log_probs, setting.threshold)
    return kept


def _count(
    ids: IntArray, parts: Sequence[MaximalRuns], corpus: Corpus, threads: int
) -> tuple[list[LongArray], LongArray]:
    """The trie node of every part of the stored words `ids`, and the users in D of every node."""
    trie = Trie.empty(corpus.manifest.lexicon)
    nodes = []
    for part in parts:
        words = ids[places_of(part.first, part.lengths)]
        nodes.append(trie.insert(words, offsets_of(part.lengths)).astype(np.int64))
    counts = count(trie, [shard.documents() for shard in corpus.shards], threads)
    return nodes, counts.users.astype(np.int64)


def _words(run: Path, found: StoredOccurrences, corpus: Corpus) -> IntArray:
    """[h] the lexicon ids of the stored words, from the corpus. Raise if an occurrence is not
    within a document of its user.
    """
    ids = np.zeros(int(found.offsets[-1]), np.int32)
    lengths, done = np.diff(found.offsets), 0
    for documents, rows in documents_holding(corpus.documents(), found.documents):
        at = np.searchsorted(documents.numbers, found.documents[rows]).clip(max=len(documents) - 1)
        sizes, starts = lengths[rows], found.starts[rows].astype(np.int64)
        if (
            not len(documents)
            or (documents.numbers[at] != found.documents[rows]).any()
            or (documents.users[at] != found.users[rows]).any()
            or (starts + sizes > documents.lengths()[at]).any()
        ):
            raise damaged(run / "occurrences.parquet")
        source = places_of(documents.offsets[at] + starts, sizes)
        ids[places_of(found.offsets[rows], sizes)] = documents.ids[source]
        done += len(rows)
    if done != len(found.documents):
        raise damaged(run / "occurrences.parquet")
    return ids


def _point(
    setting: HardenedInterface,
    found: StoredOccurrences,
    part: MaximalRuns,
    nodes: LongArray,
    users_in_d: LongArray,
    curated: list[str] | None,
    validation: ValidationAnswers | None,
) -> HardenedPoint:
    unique = is_unique(users_in_d[nodes])
    by_threshold, epsilon = None, None
    if curated is not None and found.public_log_probs is not None:
        sequences, row = np.unique(nodes[unique], return_inverse=True)
        largest = np.full(len(sequences), -np.inf)
        np.maximum.at(largest, row, _ratios(found, part)[unique])
        by_threshold = {t: int((largest >= float(t)).sum()) for t in curated}
        worst = float(largest.max()) if len(largest) else np.nan
        epsilon = worst if np.isfinite(worst) else None
    accuracy = answered = None
    if validation is not None:
        suggests = np.ones(len(validation.rank), np.bool_)
        if setting.threshold is not None:
            suggests = ~is_silent(validation.top_log_prob, setting.threshold)
        accuracy = float((suggests & (validation.rank < setting.top_k)).mean())
        answered = float(suggests.mean())
    return HardenedPoint(
        top_k=setting.top_k,
        threshold=setting.threshold,
        unique_sequences=len(np.unique(nodes[unique])),
        users_with_unique=len(np.unique(found.users[part.rows[unique]])),
        curated=by_threshold,
        leakage_epsilon=epsilon,
        validation_accuracy=accuracy,
        answered=answered,
    )


def _ratios(found: StoredOccurrences, part: MaximalRuns) -> FloatArray:
    """[p] PP_public / PP_model of each part in its own context, computed as a report does."""
    if found.public_log_probs is None:
        return np.zeros(len(part.rows), np.float32)
    places, offsets = places_of(part.first, part.lengths), offsets_of(part.lengths)
    public = run_perplexities(found.public_log_probs[places], offsets)
    return np.asarray(public / run_perplexities(found.log_probs[places], offsets))
