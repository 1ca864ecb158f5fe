"""What comes out without memory, as the chance line reads it, wherever it was measured."""

from dataclasses import dataclass

import numpy as np

from leakscope.leakage.chance.decoys import Decoys
from leakscope.leakage.chance.q_values import Floats
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.records.documents import BoolArray, FloatArray, LongArray
from leakscope.records.runs.run_metrics import ChanceSource


@dataclass(frozen=True)
class ChanceSample:
    """d decoys."""

    source: ChanceSource
    lengths: LongArray
    """[d] words of each."""
    ratios: FloatArray | None
    """[d] to the public model; None: there is none."""
    weights: Floats
    """[d] for how many unique sequences each stands."""
    documents: LongArray
    """[d] where each comes from: those of one document come together."""
    of_habit: BoolArray | None
    """[d] whether it holds what its user repeats and nobody else has, so that it may be memory of
    other documents, and answers only for targets of this kind; None: it answers for all."""
    maybe_memory: BoolArray
    """[d] whether nobody can say if it comes out without memory."""
    weight: float
    """Of one more."""
    words: int
    """Words that were read for them."""
    of_others: float = 0.0
    """Share of these words whose users have no training document."""

    def __len__(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True)
class PublicOpinion:
    """What a public model says of decoys."""

    ratios: FloatArray
    """[d]"""
    predicts: BoolArray | None
    """[d] whether it predicts a decoy in its place; None: it was not trained in the same way, so
    that this says nothing of what comes out without memory."""


def of_held_out(decoys: Decoys, public: PublicOpinion | None) -> ChanceSample:
    """The decoys of held-out documents. Those that may be memory of their user's other documents
    count, unless a public model that never saw the user says which of them come out without.
    """
    ratios = np.zeros(len(decoys), np.float32) if public is None else public.ratios
    alike = public is not None and public.predicts is not None
    kept = np.ones(len(decoys), np.bool_)
    if public is not None and public.predicts is not None:
        kept = ~decoys.may_be_memory | public.predicts
    some, ratios = decoys.only(kept).merged(ratios[kept])
    return ChanceSample(
        source="held-out",
        lengths=some.lengths,
        ratios=None if public is None else ratios,
        weights=some.weights,
        documents=some.documents,
        of_habit=None if alike else some.of_habit,
        maybe_memory=np.zeros(len(some), np.bool_) if alike else some.may_be_memory,
        weight=decoys.share.weight,
        words=decoys.share.held_out,
        of_others=decoys.of_others,
    )


def of_stand_ins(shown: CountedSequences, ratios: FloatArray | None, words: int) -> ChanceSample:
    """What stand-ins show of users that they never saw: their unique sequences, one for one, in the
    same `words` of D. `ratios` [s] are to the public model.
    """
    rows = np.flatnonzero(shown.sequences.unique)
    return ChanceSample(
        source="stand-ins",
        lengths=shown.sequences.lengths[rows].astype(np.int64),
        ratios=None if ratios is None else ratios[rows],
        weights=np.ones(len(rows)),
        documents=shown.first_documents()[rows],
        of_habit=None,
        maybe_memory=np.zeros(len(rows), np.bool_),
        weight=1.0,
        words=words,
    )
