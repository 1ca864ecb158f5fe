"""What a model's training guarantees: its differential privacy, as tables and pages tell it.

DP epsilon is the guarantee of the training; leakage epsilon is a ratio measured in the report. No
label here says "epsilon" alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leakscope.records.models.audited_model import mitigation_of, why_unknown
from leakscope.records.models.dp_record import PrivacyRecord
from leakscope.records.runs.run_manifest import RunManifest
from leakscope.records.runs.run_metrics import Metrics
from leakscope.reporting.facts import headline, values
from leakscope.reporting.facts.fact import Fact
from leakscope.reporting.facts.recomputed_epsilon import CONTRADICTION, checked

NONE = "none: trained without differential privacy"
UNKNOWN = "not known: the model's own records do not tell how it was trained"
INSECURE = (
    "noise and draws came from a seed (--insecure-seed), so the DP epsilon is no guarantee against "
    "anybody who may know it"
)
_MEANING = (
    "What the training guarantees, whoever attacks: lower is safer. Not to be confused with the "
    "leakage epsilon, which is measured."
)


@dataclass(frozen=True)
class Guarantee:
    """The differential privacy of a model under audit, or why there is none to tell."""

    record: PrivacyRecord | None
    reason: str | None
    """Why there is no DP epsilon."""
    damaged: bool = False
    """Whether the record contradicts itself, so that its epsilon is not shown."""
    unchecked: str | None = None
    """Why the epsilon could not be recomputed from the record's own steps."""

    @property
    def epsilon(self) -> float | None:
        """DP epsilon, an upper bound; None has its reason."""
        return None if self.record is None else self.record.epsilon

    @property
    def insecure(self) -> bool:
        """Whether the noise came from a seed, which voids the guarantee."""
        return self.record is not None and self.record.insecure_seed

    @property
    def doubts(self) -> Sequence[str]:
        """Why the epsilon guarantees nothing, whatever its value, a sentence each."""
        return () if self.record is None or self.epsilon is None else self.record.doubts()


def guarantee_of(manifest: RunManifest) -> Guarantee:
    """The guarantee of a run's model, from its config in the manifest. Its epsilon is recomputed
    from the steps, see `recomputed_epsilon`.
    """
    told = mitigation_of(manifest.model)
    if told is None:
        return Guarantee(None, why_unknown(manifest.model) or UNKNOWN)
    if not isinstance(told, PrivacyRecord):
        return Guarantee(None, NONE)
    found = checked(told)
    if found.record.epsilon is not None:
        return Guarantee(found.record, None, unchecked=found.unchecked)
    why = (found.record.reason or values.UNEXPLAINED).rstrip(".")
    return Guarantee(found.record, why, damaged=found.damaged)


def leakage(
    manifest: RunManifest, metrics: Metrics, named: Mapping[int, str] | None = None
) -> list[Fact]:
    """What the model gives away, with what its training guarantees beside the leakage epsilon;
    `named` as in `headline.leakage`.
    """
    facts = headline.leakage(metrics, named)
    beside = 1 + [fact.name for fact in facts].index("leakage_epsilon")
    return [*facts[:beside], fact(guarantee_of(manifest)), *facts[beside:]]


def fact(guarantee: Guarantee) -> Fact:
    """The headline of a guarantee."""
    record, label = guarantee.record, "DP epsilon"
    detail = "" if record is None else terms(record)
    if record is not None and record.insecure_seed:
        detail += "; insecure seed, no guarantee"
    elif guarantee.doubts:
        detail += "; no guarantee"
    if guarantee.epsilon is None:
        why = values.printable(guarantee.reason or values.UNEXPLAINED)
        return Fact("dp_epsilon", label, values.ABSENT, _MEANING, reason=why)
    return Fact("dp_epsilon", label, values.bound(guarantee.epsilon), _MEANING, detail)


def terms(record: PrivacyRecord) -> str:
    """What an epsilon must never stand without: its delta, and whom it is about."""
    whom = f"one {record.unit} of {values.thousands(record.units)}"
    replaced = "replacing " if record.relation == "replace-one" else ""
    return f"at delta {values.bound(record.delta)}, for {replaced}{whom}"


def details(record: PrivacyRecord) -> list[tuple[str, str]]:
    """The mechanism and its accounting, as names and values for people."""
    some = f"{record.unit}s"
    found = [
        ("DP delta", values.bound(record.delta)),
        ("Unit of privacy", f"{record.unit}, of {values.thousands(record.units)} {some}"),
        ("Accountant", values.printable(record.accountant)),
        ("Noise multiplier", f"{record.noise_multiplier:.4g} times the clip"),
        ("Clip", f"{record.clip:.4g} per {record.unit}"),
        ("Sampling rate", f"{record.rate:.4g}, about {record.expected_units:,.4g} {some} per step"),
        (
            "Words in a step",
            f"at most {values.thousands(record.words_per_user)} per {record.unit}",
        ),
        ("Steps", steps(record)),
    ]
    if len(record.phases) > 1:
        found.append(("Steps by noise and rate", _phases(record)))
    if record.schedules:
        followed = (f"{name} {factors}" for name, factors in record.schedules.items())
        found.append(("Factors by step", values.printable("; ".join(followed))))
    if record.replace_one_epsilon is not None and record.relation != "replace-one":
        value = values.bound(record.replace_one_epsilon)
        found.append((f"DP epsilon for replacing one {record.unit}", value))
    found.append(
        ("Noise and draws from", "a seed" if record.insecure_seed else "the operating system")
    )
    if record.gaussian is not None:
        found.append(("Gaussian-DP value", gaussian(record)))
    return found


def steps(record: PrivacyRecord) -> str:
    """All steps spent, including those that are not in the weights."""
    spent = values.thousands(record.steps)
    if not record.lost_steps:
        return spent
    return f"{spent}, including {values.thousands(record.lost_steps)} that a crash lost"


def gaussian(record: PrivacyRecord) -> str:
    """The value of Gaussian DP with the warning that it never stands without."""
    value = record.gaussian
    if value is None:
        return values.ABSENT
    above = record.epsilon is not None and value.epsilon > record.epsilon
    note = values.printable(value.note) + (", though not here" if above else "")
    return f"{values.rounded(value.epsilon)}, {note}"


def caveats(record: PrivacyRecord) -> list[str]:
    """What the guarantee does not cover, a sentence each."""
    return [values.printable(caveat) for caveat in record.caveats]


def stamps(guarantee: Guarantee) -> list[tuple[str, str]]:
    """The warnings, each a label and a sentence, that go on everything made from a model whose
    noise came from a seed or whose epsilon guarantees nothing or is not borne out by its steps.
    """
    found = [("Damaged record", _sentence(CONTRADICTION))] if guarantee.damaged else []
    if guarantee.unchecked is not None:
        found.append(("Not recomputed", _sentence(guarantee.unchecked)))
    if guarantee.insecure:
        found.append(("Insecure seed", _sentence(INSECURE)))
    return found + [("No guarantee", values.printable(doubt)) for doubt in guarantee.doubts]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _phases(record: PrivacyRecord) -> str:
    return "; ".join(
        f"{values.thousands(phase.steps)} at noise {phase.noise_multiplier:.4g}, "
        f"rate {phase.rate:.4g}"
        for phase in record.phases
    )
