"""What chance is judged by, before and after the public model has spoken: held-out documents, or
stand-ins.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from leakscope.leakage.chance.chance_line import ChanceLine, chance_line, habits
from leakscope.leakage.chance.chance_sample import PublicOpinion, of_held_out, of_stand_ins
from leakscope.leakage.chance.decoys import Decoys
from leakscope.leakage.scrutiny.public_stage import PublicJudge
from leakscope.leakage.scrutiny.public_surprise import ratios
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.records.documents import FloatArray
from leakscope.records.measured import Measured
from leakscope.records.models.public_model import CrossFittedModelRecord, RetrainedModelRecord

LEAST_SEEN = 0.6
"""Where a public model was trained on a smaller share of the users, it may know too little of what
all of them say. Three folds, which see two thirds, were judged by twins (docs/experiments.md)."""
LEAST_SEEN_BY_STAND_INS = 0.75
"""The same for stand-ins, of which four folds are the fewest that twins have judged."""
NOT_HELD_OUT = "the model was probably trained on the held-out documents too"


class ChanceEvidence(Protocol):
    """What came out without memory, and what a public model says of it."""

    @property
    def doubts(self) -> tuple[str, ...]:
        """What to bear in mind about who has judged, a sentence each."""
        ...

    def judged(self, judge: PublicJudge, top_k: int) -> "ChanceEvidence":
        """The same, with the opinion of the public model."""
        ...

    def of_documents_not_held_out(self) -> "ChanceEvidence":
        """The same, if the model turns out to know the validation documents."""
        ...

    def line(
        self, counted: CountedSequences, rate: float, ratios: FloatArray | None = None
    ) -> Measured[ChanceLine]:
        """The chance line of S, `counted`, whose `ratios` [s] to the public model are known if that
        has judged; or why there is none.
        """
        ...


@dataclass(frozen=True)
class HeldOutEvidence:
    """Decoys of held-out documents, or why there are none."""

    decoys: Measured[Decoys]
    opinion: PublicOpinion | None = None
    doubts: tuple[str, ...] = ()

    def judged(self, judge: PublicJudge, top_k: int) -> "HeldOutEvidence":
        """Whether the public model predicts them, too, says something if it was trained in the same
        way, and just as far: one that overfits more than the audited one predicts less.
        """
        decoys = self.decoys.value
        if decoys is None:
            return self
        members, chosen = decoys.members, decoys.chosen
        held_out = judge.corpus.held_out_as_training()
        said = replace(judge, corpus=held_out).answers(members, chosen)
        predicts = None
        if judge.alike is not None:
            predicts = replace(judge.alike, corpus=held_out).predictions(members, chosen, top_k)
        ratios = said.perplexities() / members.perplexities[chosen]
        doubts = (*_doubts_about_stage(judge), *_doubts_about_size(judge))
        return replace(self, opinion=PublicOpinion(ratios, predicts), doubts=doubts)

    def of_documents_not_held_out(self) -> "HeldOutEvidence":
        """Nothing is left."""
        return HeldOutEvidence(Measured.absent(NOT_HELD_OUT))

    def line(
        self, counted: CountedSequences, rate: float, ratios: FloatArray | None = None
    ) -> Measured[ChanceLine]:
        """Sequences that their user repeats are judged apart, unless a model trained alike has
        spoken.
        """
        decoys = self.decoys.value
        if decoys is None:
            return Measured(None, self.decoys.reason)
        sample, kinds = of_held_out(decoys, self.opinion), habits(counted, decoys.repeated_words)
        return Measured(chance_line(counted, sample, rate, ratios=ratios, of_habit=kinds))


@dataclass(frozen=True)
class StandInEvidence:
    """What stand-ins show of users that they never saw, in so many words of D."""

    shown: CountedSequences
    words: int
    folds: int
    ratios: FloatArray | None = None
    """[s] to the public model, of what they show."""

    @property
    def doubts(self) -> tuple[str, ...]:
        """Whether they have seen enough of the users."""
        seen = 1 - 1 / self.folds
        least = LEAST_SEEN_BY_STAND_INS
        return _doubts_about_users("stand-ins", seen, least, "stand-ins crossfit with three")

    def judged(self, judge: PublicJudge, top_k: int) -> "StandInEvidence":
        """Their ratios, as those of the model's own sequences."""
        members, sequences = self.shown.members, self.shown.sequences
        chosen = sequences.members_of(sequences.unique)
        said = judge.answers(members, chosen)
        return replace(self, ratios=ratios(members, sequences, said).of_sequence)

    def of_documents_not_held_out(self) -> "StandInEvidence":
        """They read no held-out documents."""
        return self

    def line(
        self, counted: CountedSequences, rate: float, ratios: FloatArray | None = None
    ) -> Measured[ChanceLine]:
        """One list of all, one for one."""
        sample = of_stand_ins(self.shown, self.ratios, self.words)
        return Measured(chance_line(counted, sample, rate, ratios=ratios))


def _doubts_about_stage(judge: PublicJudge) -> tuple[str, ...]:
    """A sentence where nobody says what comes out without memory, since snapshots are missing."""
    if judge.stage_not_kept is None:
        return ()
    return (
        f"The public models have not kept what they were at {judge.stage_not_kept}. What a user "
        "repeats is judged as without them, and hardly ever confirmed.",
    )


def _doubts_about_size(judge: PublicJudge) -> tuple[str, ...]:
    """A sentence where whoever says what comes out without memory has seen few of the users."""
    seen = None if judge.alike is None else _share_of_users(judge)
    if seen is None:
        return ()
    return _doubts_about_users("public models", seen, LEAST_SEEN, "public crossfit with three")


def _doubts_about_users(who: str, seen: float, least: float, remedy: str) -> tuple[str, ...]:
    if seen >= least:
        return ()
    return (
        f"The {who} were trained on {seen:.0%} of the users, so they may show less than this one "
        f"would without memory, and too little may be taken for chance. Give --{remedy} --folds or "
        "more.",
    )


def _share_of_users(judge: PublicJudge) -> float | None:
    """How many of the users of D a public model has seen; None: that is not known."""
    record = judge.record
    if isinstance(record, CrossFittedModelRecord) and record.folds:
        return (record.folds - 1) / record.folds
    if isinstance(record, RetrainedModelRecord) and record.users_left_out is not None:
        return 1 - record.users_left_out / max(judge.corpus.counts().users, 1)
    return None
