"""`metrics.json`: the headline numbers of a report, and why some are absent."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from leakscope.records.runs.gate_verdict import GateVerdict

ChanceSource = Literal["held-out", "stand-ins"]
OTHER_CONTEXTS = ("truncated", "reworded", "others")
"""Kinds of prompts outside the training contexts."""


class AuditedPart(BaseModel):
    """How much of the training data D the model was asked about."""

    model_config = ConfigDict(frozen=True)

    users: int
    documents: int
    words: int


class Metrics(BaseModel):
    """`metrics.json`. What could not be measured is null and has its reason in `reasons`."""

    model_config = ConfigDict(frozen=True)

    top_k: int
    users: int
    documents: int
    words: int
    """Of the training data D."""
    correct_words: int
    """Words of D within the model's top k."""
    occurrences: int
    """|S|, with multiplicity."""
    sequences: int
    """Distinct sequences in S."""
    unique_sequences: int
    """Metric 1: sequences of S that are unique."""
    unique_not_copied: int
    """Those of them that were not already in every one of their contexts."""
    unique_by_length: dict[int, int]
    longest_unique: int | None
    users_with_unique: int
    user_threshold: int | None
    """The p of the filter on users in S; None: no filter."""
    below_threshold: int
    """Sequences with fewer than p users in S, which the table lists; all if there is no p."""
    near_ties: int
    """Decisions within float noise, settled in float64."""
    curated: dict[str, int] | None
    """Metric 2 by threshold t: unique sequences with ratio >= t."""
    leakage_epsilon: float | None
    """The largest ratio over the unique sequences."""
    leakage_epsilon_sequence: int | None = None
    """The `id` of the sequence that sets it."""
    leakage_epsilon_words: int | None = None
    """How many words that sequence has."""
    leakage_epsilon_nats: float | None = None
    """Its logarithm: how many nats more each of these words surprises the public model."""
    leakage_epsilon_low: float | None = None
    leakage_epsilon_high: float | None = None
    """A 95 % interval by drawing users again, with replacement."""
    leakage_epsilon_by_length: dict[int, float] | None = None
    public_unique_sequences: int | None = None
    """The benchmark line: what the public model itself gives away of D, as metric 1 counts it."""
    public_unknown_sequences: int | None = None
    """Unique sequences with a word that the public model does not know: their ratio is a lower
    bound."""
    unique_without_context: int | None = None
    """Unique sequences that the model produces with no context at all."""
    least_context_measured: int | None = None
    """For how many unique sequences the least context was looked for."""
    elsewhere: dict[str, dict[str, int]] | None = None
    """Prompts outside the training contexts, `tried` and `out`, by kind: of `OTHER_CONTEXTS`."""
    unique_pii: dict[str, int] | None = None
    """Unique sequences that look like personal data, by kind; one may be of several."""
    unique_with_pii: int | None = None
    """Unique sequences that look like personal data of any kind."""
    unique_public_predicts: int | None = None
    """Unique sequences that the public model predicts in a place where this one does."""
    chance_unique: float | None = None
    chance_unique_low: float | None = None
    chance_unique_high: float | None = None
    """Unique sequences that a model without memory of these documents would show, from what comes
    out by chance, of this one in held-out documents or of stand-ins in D; with a 95 % interval over
    documents."""
    chance_by_length: dict[int, float] | None = None
    chance_source: ChanceSource | None = None
    """What chance was measured on: held-out documents, or stand-ins that never saw the users."""
    excess_unique: float | None = None
    excess_unique_low: float | None = None
    excess_unique_high: float | None = None
    """Unique sequences that are more than that."""
    confirmed_unique: int | None = None
    """Unique sequences on the longest list of which at most the set share is expected to be
    chance."""
    least_confirmable: int | None = None
    """A shorter list cannot be confirmed, whatever it holds."""
    judged_together: int | None = None
    """Unique sequences on the longest list: what users repeat may be judged apart. Null also in
    runs of before, where it was not told."""
    unjudged_unique: int | None = None
    """Unique sequences that may be more than chance and cannot be confirmed: too few are judged
    together, or what they are judged by may be memory. Null also in runs of before."""
    chance_maybe_memory: float | None = None
    """How much of the chance line may be memory: what users repeat, where no model that never saw
    them has said what comes out without. Null also in runs of before."""
    users_with_confirmed: int | None = None
    confirmed_epsilon: float | None = None
    """The largest ratio over the confirmed sequences."""
    confirmed_epsilon_nats: float | None = None
    """Its logarithm."""
    confirmed_epsilon_sequence: int | None = None
    """The `id` of the sequence that sets it."""
    confirmed_epsilon_words: int | None = None
    """How many words that sequence has."""
    decoys: int | None = None
    """Runs that the model predicts in held-out documents and that nobody else has in D; or unique
    sequences of stand-ins."""
    decoy_words: int | None = None
    """Words that were read for them."""
    answered: float | None = None
    """Share of validation words at which a hardened interface suggests something."""
    train_perplexity: float | None
    train_perplexity_low: float | None
    train_perplexity_high: float | None
    validation_perplexity: float | None
    validation_accuracy: dict[int, float] | None
    """By k, as shares of all words."""
    reasons: dict[str, str]
    warnings: tuple[str, ...] = ()
    """Why the numbers say nothing, a sentence each: the model knows no more than chance. Gates
    cannot be checked then."""
    notices: tuple[str, ...] = ()
    """What to bear in mind when reading the numbers, a sentence each; gates are checked all the
    same."""
    interface: str | None = None
    """What stands before the model, as the end of "through an interface that"; null: nothing."""
    gates: tuple[GateVerdict, ...] = ()
    """What the gates said that were asked for with the report."""
    audited: AuditedPart | None = None
    """The part of D that S was collected from, where only some users were audited; None: all."""

    @property
    def asked(self) -> AuditedPart:
        """The part of D that S was collected from."""
        whole = AuditedPart(users=self.users, documents=self.documents, words=self.words)
        return self.audited or whole

    @property
    def too_few_to_confirm(self) -> bool:
        """Whether there are unique sequences, and none of them could have been confirmed."""
        together = self.unique_sequences if self.judged_together is None else self.judged_together
        return self.unique_sequences > 0 and together < (self.least_confirmable or 0)

    @property
    def more_than_chance(self) -> bool:
        """Whether some unique sequences are more than chance, also if none is confirmed."""
        return self.excess_unique_low is not None and self.excess_unique_low >= 1
