"""How surprising texts of a random space are to a model: -log2 of their probability."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakscope.canaries.random_space import Digits, RandomSpace
from leakscope.canaries.score_batches import Floats, score_batches
from leakscope.corpus.lexicon import Lexicon
from leakscope.engine.kept_chunks import NOWHERE, KeptChunks
from leakscope.engine.progress import Progress, silent
from leakscope.models.interface import LanguageModel
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.documents import LongArray

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
    kept: KeptChunks = NOWHERE,
) -> Floats:
    """[n] -log2 of the probability of each text, by rows [n, places]. Raise on NaN. What is `kept`
    already is not scored again.
    """
    batches = score_batches(model, space, rows, stage)
    found = np.zeros(len(rows))
    for mine, part in zip(batches.rows, kept.made(batches, batches.sizes, progress), strict=True):
        found[mine] = part["surprise"].to_numpy()
    return found
