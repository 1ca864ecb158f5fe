"""The two ways to attack canaries, some canaries at a time, each of which can be kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from leakscope.canaries.canary_plan import ATTACK, BEAM
from leakscope.canaries.score_batches import documents_of
from leakscope.corpus.lexicon import Lexicon
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import digest_of
from leakscope.records.canaries.canary_manifest import Canary
from leakscope.records.documents import Documents

BATCH, BEAM_BATCH = 4096, 256


def cut(canaries: Sequence[Canary], size: int) -> tuple[Sequence[Canary], ...]:
    """Canaries in batches of this size."""
    return tuple(canaries[start : start + size] for start in range(0, len(canaries), size))


_OUTCOMES = pa.schema([("outcome", pa.int64())])


@dataclass(frozen=True)
class GreedyAttack:
    """The greedy attack: the outcome is how many words come in order behind those that are given,
    up to the first wrong one.
    """

    model: LanguageModel
    parts: tuple[Sequence[Canary], ...]
    given: int
    lexicon: Lexicon
    name: str = ATTACK
    schema: ClassVar[pa.Schema] = _OUTCOMES

    @property
    def sizes(self) -> list[int]:
        """Canaries of each batch."""
        return [len(part) for part in self.parts]

    def digests(self) -> list[str]:
        """See `Chunks`."""
        return [digest_of([self.given, [_read_as(each) for each in part]]) for part in self.parts]

    def start(self) -> Callable[[int], pa.RecordBatch]:
        """See `Chunks`."""
        return lambda index: _outcomes(
            _greedy(self.model, self.parts[index], self.given, self.lexicon)
        )


@dataclass(frozen=True)
class BeamAttack:
    """The attack by a beam: the outcome is whether it reaches the canary."""

    model: LanguageModel
    parts: tuple[Sequence[Canary], ...]
    given: int
    width: int
    name: str = BEAM
    schema: ClassVar[pa.Schema] = _OUTCOMES

    @property
    def sizes(self) -> list[int]:
        """Canaries of each batch."""
        return [len(part) for part in self.parts]

    def digests(self) -> list[str]:
        """See `Chunks`."""
        terms = [self.given, self.width]
        return [digest_of([*terms, [_read_as(each) for each in part]]) for part in self.parts]

    def start(self) -> Callable[[int], pa.RecordBatch]:
        """See `Chunks`."""
        return lambda index: _outcomes(
            beam_reaches(
                self.model, [each.words for each in self.parts[index]], self.given, self.width
            )
        )


def _read_as(canary: Canary) -> list[object]:
    return [canary.text, canary.words]


def _outcomes(found: Sequence[int]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(map(int, found), pa.int64())], schema=_OUTCOMES)


def _greedy(
    model: LanguageModel, canaries: Sequence[Canary], given: int, lexicon: Lexicon
) -> list[int]:
    """How many words of each come in order behind those that are given, up to the first wrong."""
    lengths = [len(canary.words) for canary in canaries]
    if model.needs_text:
        documents = documents_of([canary.text for canary in canaries], lengths)
    else:
        rows = [(0, [lexicon.ids[word] for word in canary.words]) for canary in canaries]
        documents = Documents.of(rows)
    hit = model.score(documents, top_k=1).rank < 1
    found = []
    for index in range(len(canaries)):
        mine = hit[documents.offsets[index] + given : documents.offsets[index + 1]]
        found.append(int(np.argmin(mine)) if not mine.all() else len(mine))
    return found


def beam_reaches(
    model: LanguageModel, targets: Sequence[Sequence[str]], given: int, width: int
) -> list[bool]:
    """Whether each target is among the `width` continuations of its first words that a beam search
    by whole words ends with.
    """
    beams = [[(0.0, tuple(words[:given]))] for words in targets]
    longest = max((len(words) for words in targets), default=0)
    for length in range(given, longest):
        open_ = [index for index, words in enumerate(targets) if len(words) > length]
        prefixes = [prefix for index in open_ for _, prefix in beams[index]]
        answers = iter(model.next_words(prefixes, width))
        for index in open_:
            grown = []
            for total, prefix in beams[index]:
                answer = next(answers)
                grown += [
                    (total + float(log), (*prefix, word))
                    for word, log in zip(answer.words, answer.log_probs, strict=True)
                ]
            beams[index] = sorted(grown, key=lambda each: -each[0])[:width]
    return [
        any(prefix == tuple(words) for _, prefix in beam)
        for words, beam in zip(targets, beams, strict=True)
    ]
