"""How surprising the unique sequences are to a model that never saw their users."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from leakscope.leakage.sequences.distinct import Sequences
from leakscope.leakage.sequences.documents_by_number import documents_holding
from leakscope.leakage.sequences.members import Members, run_perplexities
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.models.interface import LanguageModel
from leakscope.records.documents import BoolArray, Documents, FloatArray, IntArray, LongArray
from leakscope.records.models.public_model import PublicModelRecord
from leakscope.records.ragged import offsets_of, places_of, row_sums


@dataclass(frozen=True)
class PublicModel:
    """A public model, as the report needs to know it."""

    record: PublicModelRecord
    load: Callable[[], LanguageModel]
    """Brings the model, reading the corpus's lexicon, in any process."""
    identity: AnswerIdentity
    """All that decides its answers."""
    alike: "PublicModel | None" = None
    """The one that says what comes out without memory: trained as the audited model was, and just
    as far. None: there is none."""


PublicSource = Callable[[IntArray], PublicModel]
"""From the users who own unique sequences to the model that judges them."""


@dataclass(frozen=True)
class PublicAnswers:
    """What a public model says of u chosen occurrences with h words in all."""

    members: LongArray
    """[u] indices into `Members`, rising."""
    offsets: LongArray
    """[u + 1] occurrence i has words offsets[i] to offsets[i + 1]."""
    log_probs: FloatArray
    """[h]"""

    @staticmethod
    def none() -> "PublicAnswers":
        """Of no occurrences."""
        return PublicAnswers(np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.float32))

    def perplexities(self) -> FloatArray:
        """[u] exp(-mean log p)."""
        return run_perplexities(self.log_probs, self.offsets)


@dataclass(frozen=True)
class AskedOccurrences:
    """u occurrences that a public model is asked of, in the order of their documents."""

    documents: LongArray
    """[u] the numbers of the documents, not decreasing."""
    starts: IntArray
    lengths: LongArray

    @staticmethod
    def of(members: Members, chosen: LongArray) -> "AskedOccurrences":
        """Some members of S, by their indices (rising)."""
        return AskedOccurrences(
            members.documents[chosen],
            members.starts[chosen],
            members.lengths[chosen].astype(np.int64),
        )

    @property
    def offsets(self) -> LongArray:
        """[u + 1] occurrence i has the words offsets[i] to offsets[i + 1] of all their words."""
        return offsets_of(self.lengths)

    def part(self, low: int, high: int) -> "AskedOccurrences":
        """Those from `low` to `high`."""
        return AskedOccurrences(
            self.documents[low:high], self.starts[low:high], self.lengths[low:high]
        )


def log_probs_of(model: LanguageModel, documents: Documents, asked: AskedOccurrences) -> FloatArray:
    """The log-probabilities of all words of some occurrences within `documents`, of which the model
    reads no more than it must.
    """
    at = np.searchsorted(documents.numbers, asked.documents)
    ends = np.zeros(len(documents), np.int64)
    np.maximum.at(ends, at, asked.starts + asked.lengths)
    part = documents if model.needs_text else documents.cut(ends)
    places = places_of(part.offsets[at] + asked.starts, asked.lengths)
    wanted = np.zeros(len(part.ids), np.bool_)
    wanted[places] = True
    answers = np.full(len(part.ids), np.nan, np.float32)
    answers[wanted] = model.log_probs(part, wanted)
    return answers[places]


def predictions_of(
    model: LanguageModel, documents: Documents, asked: AskedOccurrences, top_k: int
) -> BoolArray:
    """[u] whether the model predicts all words of each occurrence within `documents`."""
    at = np.searchsorted(documents.numbers, asked.documents)
    hits = model.score(documents, top_k=top_k).rank < top_k
    places = places_of(documents.offsets[at] + asked.starts, asked.lengths)
    found: BoolArray = row_sums(hits[places], asked.offsets) == asked.lengths
    return found


def public_answers(
    model: LanguageModel, corpus: Iterable[Documents], members: Members, chosen: LongArray
) -> PublicAnswers:
    """Score the occurrences `chosen` (rising) in their own contexts, in this process."""
    asked = AskedOccurrences.of(members, chosen)
    found = [
        log_probs_of(model, documents, asked.part(int(rows[0]), int(rows[-1]) + 1))
        for documents, rows in documents_holding(corpus, asked.documents)
    ]
    return PublicAnswers(chosen, asked.offsets, np.concatenate([*found, np.zeros(0, np.float32)]))


@dataclass(frozen=True)
class Ratios:
    """Perplexity ratios: how many times more surprising to the public model."""

    members: LongArray
    """[u] the occurrences of unique sequences, rising."""
    public: FloatArray
    """[u] the public perplexity of each."""
    of_sequence: FloatArray
    """[s] the largest over its occurrences; NaN for sequences that are not unique."""

    def public_of(self, members: LongArray) -> FloatArray:
        """[n] the public perplexities of any occurrences; NaN where it was not asked for."""
        if not len(self.members):
            return np.full(len(members), np.nan, np.float32)
        at = np.minimum(np.searchsorted(self.members, members), len(self.members) - 1)
        return np.where(self.members[at] == members, self.public[at], np.float32(np.nan))


def ratios(members: Members, sequences: Sequences, found: PublicAnswers) -> Ratios:
    """PP_public / PP_model, occurrence by occurrence."""
    public = found.perplexities()
    largest = np.full(len(sequences), -np.inf, np.float32)
    np.maximum.at(
        largest, sequences.of_member[found.members], public / members.perplexities[found.members]
    )
    return Ratios(found.members, public, np.where(largest > -np.inf, largest, np.nan))
