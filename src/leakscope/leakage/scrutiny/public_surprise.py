"""How surprising the unique sequences are to a model that never saw their users."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from leakscope.leakage.sequences.distinct import Members, Sequences, run_perplexities
from leakscope.leakage.sequences.documents_by_number import documents_holding
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


def public_answers(
    model: LanguageModel, corpus: Iterable[Documents], members: Members, chosen: LongArray
) -> PublicAnswers:
    """Score the occurrences `chosen` (rising) in their own contexts. Only documents that hold one
    are read by the model, and each no further than its last.
    """
    lengths = members.lengths[chosen].astype(np.int64)
    offsets = offsets_of(lengths)
    found = np.full(int(offsets[-1]), np.nan, np.float32)
    for documents, rows in documents_holding(corpus, members.documents[chosen]):
        at = np.searchsorted(documents.numbers, members.documents[chosen[rows]])
        stops = members.starts[chosen[rows]] + lengths[rows]
        ends = np.zeros(len(documents), np.int64)
        np.maximum.at(ends, at, stops)
        part = documents if model.needs_text else documents.cut(ends)
        places = places_of(part.offsets[at] + members.starts[chosen[rows]], lengths[rows])
        wanted = np.zeros(len(part.ids), np.bool_)
        wanted[places] = True
        answers = np.full(len(part.ids), np.nan, np.float32)
        answers[wanted] = model.log_probs(part, wanted)
        found[places_of(offsets[rows], lengths[rows])] = answers[places]
    return PublicAnswers(chosen, offsets, found)


def public_predictions(
    model: LanguageModel, corpus: Iterable[Documents], members: Members, chosen: LongArray, k: int
) -> BoolArray:
    """[u] whether the model predicts all words of the occurrences `chosen` (rising), within its top
    k and in their own contexts.
    """
    found = np.zeros(len(chosen), np.bool_)
    lengths = members.lengths[chosen].astype(np.int64)
    for documents, rows in documents_holding(corpus, members.documents[chosen]):
        at = np.searchsorted(documents.numbers, members.documents[chosen[rows]])
        hits = model.score(documents, top_k=k).rank < k
        places = places_of(documents.offsets[at] + members.starts[chosen[rows]], lengths[rows])
        found[rows] = row_sums(hits[places], offsets_of(lengths[rows])) == lengths[rows]
    return found


@dataclass(frozen=True)
class Ratios:
    """Perplexity ratios: how many times more surprising to the public model."""

    of_member: FloatArray
    """[o] of each occurrence of a unique sequence; NaN for the others."""
    public: FloatArray
    """[o] its public perplexity; NaN for the others."""
    of_sequence: FloatArray
    """[s] the largest over its occurrences; NaN for sequences that are not unique."""


def ratios(members: Members, sequences: Sequences, found: PublicAnswers) -> Ratios:
    """PP_public / PP_model, occurrence by occurrence."""
    public = np.full(len(members.nodes), np.nan, np.float32)
    public[found.members] = found.perplexities()
    of_member = public / members.perplexities
    largest = np.full(len(sequences), -np.inf, np.float32)
    np.maximum.at(largest, sequences.of_member[found.members], of_member[found.members])
    return Ratios(of_member, public, np.where(largest > -np.inf, largest, np.nan))
