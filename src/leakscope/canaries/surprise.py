"""How surprising texts of a random space are to a model: -log2 of their probability.

A word-level model reads every distinct prefix once: samples that begin alike share what they have
in common. Models with a tokenizer read texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakscope.canaries.random_space import Digits, RandomSpace
from leakscope.corpus.lexicon import Lexicon
from leakscope.engine.progress import Progress, silent
from leakscope.models.carried_prefixes import CarriedPrefixes
from leakscope.models.interface import Continuations, LanguageModel
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.documents import Documents, LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.ragged import offsets_of

Floats = npt.NDArray[np.float64]

TEXTS, SEQUENCES, PREFIXES = 2048, 4096, 1024
LISTED_DIGITS = 4
"""A word-level model may know numbers of so many digits, which are then words like others."""


def lexicon_of(manifest: CanaryManifest) -> Lexicon:
    """All words of a manifest's canaries and vocabularies, for models to read them by."""
    words = {word: None for each in manifest.vocabularies for word in each}
    words |= {word: None for canary in manifest.canaries for word in canary.words}
    for space in manifest.spaces:
        for slot in space.slots:
            if -LISTED_DIGITS <= slot < 0:
                words |= dict.fromkeys(Digits(-slot))
    spelled = list(words)
    zeros = np.zeros(len(spelled), np.int64)
    return Lexicon(spelled, zeros, zeros)


@dataclass(frozen=True)
class KnownSpace:
    """The part of a random space that a model can say, and how to get there."""

    space: RandomSpace
    """With the choices that the model knows."""
    kept: tuple[LongArray | None, ...]
    """Of each place, the indices of those choices in the whole space; None: all."""

    def rows_of(self, choices: Sequence[Sequence[int]]) -> list[LongArray | None]:
        """Choices in the whole space as rows of this one; None where a word is not known."""
        found: list[LongArray | None] = []
        for row in choices:
            places = []
            for choice, kept in zip(row, self.kept, strict=True):
                at = choice if kept is None else int(np.searchsorted(kept, choice))
                known = kept is None or (at < len(kept) and int(kept[at]) == choice)
                places.append(at if known else -1)
            found.append(None if -1 in places else np.array(places, np.int64))
        return found


def known_part(model: LanguageModel, space: RandomSpace, lexicon: Lexicon) -> KnownSpace | str:
    """What of a space a model can say; or why it can say nothing of it."""
    if model.knows(np.zeros(0, np.int32)) is None:
        return KnownSpace(space, (None,) * len(space.choices))
    fixed = [column for column in space.columns if isinstance(column, str)]
    ids = [lexicon.ids.get(word) for word in fixed]
    if None in ids or not _all_known(model, [id for id in ids if id is not None]):
        return "the model does not know a word of the template"
    kept: list[LongArray] = []
    for choices in space.choices:
        if isinstance(choices, Digits) and choices.digits > LISTED_DIGITS:
            return "a word-level model has no words for so many digits"
        numbers = np.array([lexicon.ids[word] for word in choices], np.int32)
        known = model.knows(numbers)
        if known is not None:
            kept.append(np.flatnonzero(known).astype(np.int64))
        if len(kept[-1]) < 2:
            return "the model knows hardly a word that the canaries were drawn from"
    return KnownSpace(space.only(kept), tuple(kept))


def _all_known(model: LanguageModel, ids: list[int]) -> bool:
    known = model.knows(np.array(ids, np.int32))
    return known is None or bool(known.all())


def surprise_of(
    model: LanguageModel,
    space: RandomSpace,
    rows: LongArray,
    progress: Progress = silent,
    stage: str = "score",
) -> Floats:
    """[n] -log2 of the probability of each text, by rows [n, places]. Raise on NaN."""
    score = _by_texts if model.needs_text else _by_prefixes
    found = score(model, space, rows, progress, stage)
    if np.isnan(found).any():
        raise LeakscopeError(
            "The model gives log-probabilities that are not numbers (NaN), so nothing can be "
            "measured; check its weights and --dtype."
        )
    return found


def _by_texts(
    model: LanguageModel, space: RandomSpace, rows: LongArray, progress: Progress, stage: str
) -> Floats:
    found, length = np.zeros(len(rows)), len(space.columns)
    for start in range(0, len(rows), TEXTS):
        progress(stage, start, len(rows))
        texts = space.texts(rows[start : start + TEXTS])
        logs = model.log_probs(
            documents_of(texts, [length] * len(texts)), np.ones(length * len(texts), np.bool_)
        )
        sums = logs.astype(np.float64).reshape(len(texts), length).sum(1)
        found[start : start + TEXTS] = -sums / np.log(2)
    progress(stage, len(rows), len(rows))
    return found


def documents_of(texts: Sequence[str], lengths: Sequence[int]) -> Documents:
    """Texts as documents without a user, for models that read texts."""
    sizes = np.array(lengths, np.int64)
    return Documents(
        np.zeros(len(texts), np.int32),
        np.arange(len(texts), dtype=np.int64),
        offsets_of(sizes),
        np.zeros(int(sizes.sum()), np.int32),
        list(texts),
    )


def _by_prefixes(
    model: LanguageModel, space: RandomSpace, rows: LongArray, progress: Progress, stage: str
) -> Floats:
    start = model.begin([()])
    entries = _entries(space, rows, {word: at for at, word in enumerate(start.entries)})
    order = np.lexsort(entries.T[::-1])
    found = np.zeros(len(rows))
    for begin in range(0, len(rows), SEQUENCES):
        progress(stage, begin, len(rows))
        chosen = order[begin : begin + SEQUENCES]
        found[chosen] = _of_sorted(start, entries[chosen]) / -np.log(2)
    progress(stage, len(rows), len(rows))
    return found


def _entries(space: RandomSpace, rows: LongArray, numbers: dict[str, int]) -> LongArray:
    """[n, words] the model's entry of every word."""
    found = np.zeros((len(rows), len(space.columns)), np.int64)
    for at, column in enumerate(space.columns):
        if isinstance(column, str):
            found[:, at] = numbers[column]
        else:
            known = np.array([numbers[word] for word in space.choices[column]], np.int64)
            found[:, at] = known[rows[:, column]]
    return found


def _of_sorted(start: Continuations, entries: LongArray) -> Floats:
    """[n] the log-probabilities of sequences [n, words] in lexicographic order."""
    total = np.zeros(len(entries))
    state, prefix = start, np.zeros(len(entries), np.int64)  # of each sequence, its row of `state`
    for place in range(entries.shape[1]):
        labels = entries[:, place]
        total += _logs_at(state, prefix, labels)
        if place + 1 < entries.shape[1]:
            new = np.ones(len(entries), np.bool_)
            new[1:] = (prefix[1:] != prefix[:-1]) | (labels[1:] != labels[:-1])
            firsts = np.flatnonzero(new)
            state = state.extended(prefix[firsts], labels[firsts])
            prefix = np.cumsum(new) - 1
    return total


def _logs_at(state: Continuations, rows: LongArray, labels: LongArray) -> Floats:
    """[n] the log-probabilities of `labels` [n] after the prefixes at `rows` [n], which rise."""
    if isinstance(state, CarriedPrefixes):
        return state.log_probs_at(rows, labels).astype(np.float64)
    found = np.zeros(len(rows))
    for low in range(0, len(state), PREFIXES):
        high = min(low + PREFIXES, len(state))
        first, last = np.searchsorted(rows, [low, high])
        logs = state.log_probs(np.arange(low, high))
        mine = slice(int(first), int(last))
        found[mine] = logs[rows[mine] - low, labels[mine]]
    return found
