"""What tells memory from chance: confirmed sequences, the chance line, the leakage epsilon."""

from collections.abc import Mapping

from leakscope.records.runs.run_metrics import Metrics
from leakscope.reporting.facts import values
from leakscope.reporting.facts.fact import Fact, absent


def confirmed(metrics: Metrics) -> Fact:
    """How many unique sequences are more than chance."""
    by = (
        "models like this one show of users that they never saw"
        if metrics.chance_source == "stand-ins"
        else "the model predicts in held-out documents"
    )
    meaning = (
        f"Unique sequences that are more than chance, judged by what {by}: of this list, about one "
        f"in twenty (or as it was set) is expected to be chance."
    )
    label = "Confirmed sequences"
    if metrics.confirmed_unique is None:
        return absent(metrics, "confirmed_unique", label, meaning)
    detail = f"of {values.plural(metrics.users_with_confirmed or 0, 'user')}"
    if metrics.unjudged_unique:
        detail += f"; {values.thousands(metrics.unjudged_unique)} more could not be judged"
    value = values.thousands(metrics.confirmed_unique)
    return Fact("confirmed_unique", label, value, meaning, detail)


def chance(metrics: Metrics) -> Fact:
    """How many a model without memory would show."""
    by_stand_ins = metrics.chance_source == "stand-ins"
    by = (
        "what models like this one show of users that they never saw"
        if by_stand_ins
        else "what this one predicts in held-out documents, scaled to the training data"
    )
    meaning = f"Unique sequences that a model without memory of these documents would show: {by}."
    label = "By chance"
    if metrics.chance_unique is None:
        return absent(metrics, "chance_unique", label, meaning)
    read = values.plural(metrics.decoy_words or 0, "word" if by_stand_ins else "held-out word")
    shown = values.plural(metrics.decoys or 0, "decoy")
    detail = f"{interval(metrics, 'chance_unique')}; {shown} in {read}"
    if metrics.chance_maybe_memory:
        detail += f"; {metrics.chance_maybe_memory:,.0f} of it may be memory"
    value = f"{metrics.chance_unique:,.0f}"
    return Fact("chance_unique", label, value, meaning, detail)


def epsilon(metrics: Metrics, named: Mapping[int, str]) -> Fact:
    """The largest ratio, and what sets it."""
    meaning = (
        "How many times more surprising the worst unique sequence is to a model that never saw "
        "its user."
    )
    if metrics.leakage_epsilon is None:
        return absent(metrics, "leakage_epsilon", "Leakage epsilon", meaning)
    value = values.rounded(metrics.leakage_epsilon)
    details = []
    if metrics.leakage_epsilon_nats is not None:
        details.append(f"{metrics.leakage_epsilon_nats:.1f} nats per word")
    if metrics.leakage_epsilon_low is not None and metrics.leakage_epsilon_high is not None:
        low, high = metrics.leakage_epsilon_low, metrics.leakage_epsilon_high
        details.append(f"95 % interval {values.rounded(low)} to {values.rounded(high)}")
    details += set_by(metrics.leakage_epsilon_sequence, metrics.leakage_epsilon_words, named)
    return Fact("leakage_epsilon", "Leakage epsilon", value, meaning, "; ".join(details))


def set_by(
    sequence: int | None, length: int | None, named: Mapping[int, str] | None = None
) -> list[str]:
    """By which sequence of so many words an epsilon is set; nothing where that is not known.
    `named`: the words of sequences that may be told.
    """
    if sequence is None or length is None:
        return []
    words = (named or {}).get(sequence)
    called = f"sequence {sequence}" if words is None else f"“{words}”"
    return [f"set by {called}, {values.plural(length, 'word')}"]


def confirmed_epsilon(metrics: Metrics, named: Mapping[int, str]) -> list[Fact]:
    """Only where there is a public model and a chance line."""
    if metrics.leakage_epsilon is None or metrics.confirmed_unique is None:
        return []
    meaning = "The same over the confirmed sequences alone."
    label = "Confirmed epsilon"
    if metrics.confirmed_epsilon is None:
        return [absent(metrics, "confirmed_epsilon", label, meaning)]
    details = set_by(metrics.confirmed_epsilon_sequence, metrics.confirmed_epsilon_words, named)
    if metrics.confirmed_epsilon_nats is not None:
        details = [f"{metrics.confirmed_epsilon_nats:.1f} nats per word", *details]
    value = values.rounded(metrics.confirmed_epsilon)
    return [Fact("confirmed_epsilon", label, value, meaning, "; ".join(details))]


def public_predicts(metrics: Metrics) -> list[Fact]:
    """Only where there is a public model."""
    if metrics.unique_public_predicts is None:
        return []
    meaning = "Unique sequences that the public model predicts in the same place, too."
    value = values.thousands(metrics.unique_public_predicts)
    detail = f"of {metrics.unique_sequences:,} unique"
    label = "Predicted by the public model"
    return [Fact("unique_public_predicts", label, value, meaning, detail)]


def at_most(metrics: Metrics) -> str:
    """What stands before the chance line in a sentence: some of it may be memory."""
    return "at most about " if metrics.chance_maybe_memory else "about "


def interval(metrics: Metrics, name: str) -> str:
    """The 95 % interval of a count."""
    low, high = getattr(metrics, f"{name}_low"), getattr(metrics, f"{name}_high")
    return f"95 % interval {low:,.0f} to {high:,.0f}"
