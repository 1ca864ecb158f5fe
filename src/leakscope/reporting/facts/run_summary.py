"""The finding of a run in a few sentences."""

from leakscope.records.runs.run_metrics import Metrics
from leakscope.records.unique import HELD_BY
from leakscope.reporting.facts import values
from leakscope.reporting.facts.chance_facts import at_most, interval
from leakscope.reporting.facts.interface_facts import through


def summary(metrics: Metrics) -> str:
    """The finding in a few sentences; what stands before the model comes first."""
    seen = "its best suggestion" if metrics.top_k == 1 else f"its {metrics.top_k} best suggestions"
    shown = f"Shown only {seen} at each word"
    if metrics.interface is not None:
        shown = through(metrics.interface, f"and shown only {seen} at each word")
    if metrics.unique_sequences == 0:
        return (
            f"{shown}, an attacker finds no sequence that this model "
            f"repeats and that {HELD_BY}{_only_audited(metrics)}."
        )
    text = (
        f"{shown}, an attacker who knows how a user's text begins can "
        f"draw {values.plural(metrics.unique_sequences, 'sequence')} out of this model that "
        f"{HELD_BY}. "
        f"{values.thousands(metrics.users_with_unique)} of {audited_users(metrics)} "
        f"{'is' if metrics.users_with_unique == 1 else 'are'} affected"
    )
    if metrics.longest_unique is not None:
        text += f"; the longest sequence has {values.plural(metrics.longest_unique, 'word')}"
    return f"{text}.{_against_chance(metrics)}"


def _against_chance(metrics: Metrics) -> str:
    """A sentence on how many of the unique sequences are more than chance, if that is known."""
    if metrics.chance_unique is None or metrics.confirmed_unique is None:
        return ""
    confirmed = f"{values.thousands(metrics.confirmed_unique)} are confirmed as more than chance"
    if not metrics.confirmed_unique and metrics.more_than_chance:
        least = values.thousands(int(metrics.excess_unique_low or 0))
        confirmed = f"at least {least} are more than chance, but none can be told from the others"
    if metrics.unjudged_unique:
        confirmed += f", and {values.thousands(metrics.unjudged_unique)} could not be judged"
    return (
        f" A model without memory of these documents would show {at_most(metrics)}"
        f"{metrics.chance_unique:,.0f} ({interval(metrics, 'chance_unique')}); {confirmed}."
    )


def audited_users(metrics: Metrics) -> str:
    """How many users S is about: "120 users", or "3 audited users" where others were not."""
    if metrics.audited is None:
        return values.plural(metrics.users, "user")
    return values.plural(metrics.audited.users, "audited user")


def _only_audited(metrics: Metrics) -> str:
    """Whose text was not searched, as the end of a sentence; empty where everybody's was."""
    if metrics.audited is None:
        return ""
    return (
        f", among the text of the {values.plural(metrics.audited.users, 'user')} who "
        f"{'was' if metrics.audited.users == 1 else 'were'} audited, out of "
        f"{values.thousands(metrics.users)}"
    )
