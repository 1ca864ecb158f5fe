"""Gates: conditions on a report's metrics that fail a pipeline."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leakscope.auditing.gating.conditions import Condition, condition, numbers_of
from leakscope.corpus.personal_data.kinds import KINDS
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.public_model import PublicModelRecord
from leakscope.records.runs.gate_verdict import GateVerdict
from leakscope.records.runs.run_manifest import RunManifest
from leakscope.records.runs.run_metrics import OTHER_CONTEXTS, AuditedPart, Metrics
from leakscope.reporting.facts.guarantee import INSECURE, Guarantee, guarantee_of

DP_EPSILON = "dp_epsilon"
"""The one number of a gate that is no metric of the report, but is told by the model's training."""
JUDGED = (
    "leakage_epsilon", "leakage_epsilon_nats", "leakage_epsilon_low", "leakage_epsilon_high",
    "leakage_epsilon_by_length", "curated", "confirmed_epsilon", "confirmed_unique",
    "users_with_confirmed", "unique_public_predicts", "public_unique_sequences",
    "public_unknown_sequences",
)  # fmt: skip
"""Metrics that hang on the public model, if there is one: if that may know the users, they are
too low."""
CONFIRMED = ("confirmed_unique", "users_with_confirmed", "confirmed_epsilon")
"""Metrics that need enough unique sequences to be anything but 0, and hang on who judges."""
EXCESS = ("excess_unique", "excess_unique_low", "excess_unique_high")
"""Metrics that are too low where chance is too high."""
BY_LENGTH: dict[str, Callable[[Sequence[float]], float]] = {
    "unique_by_length": sum,
    "chance_by_length": sum,
    "leakage_epsilon_by_length": max,
}
"""Metrics by length, and what `[5+]` takes of all lengths from 5 on."""
KEYS: dict[str, Sequence[str]] = {
    "unique_pii": KINDS,
    "elsewhere": [f"{kind}.{number}" for kind in OTHER_CONTEXTS for number in ("tried", "out")],
    "audited": list(AuditedPart.model_fields),
}
"""Metrics whose numbers are known beforehand, by the keys that a gate may name."""
KEYED = (*BY_LENGTH, "curated", "validation_accuracy", *KEYS)
"""Metrics of several numbers, of which a gate names one, as in `curated[10]`."""
FIGURES = (*numbers_of(Metrics), DP_EPSILON, *(f"{name}[...]" for name in KEYED))
"""What a gate can be on."""
UNGATED = {"gates": "what gates have said is no figure of the model"}
"""Fields of the metrics that hold numbers of which a gate may name none, and why."""
UNCHECKED = "cannot be checked: "


@dataclass(frozen=True)
class Gate:
    """A metric, a comparison and a number; the pipeline fails if it holds."""

    text: str
    metric: str
    condition: Condition

    @staticmethod
    def parse(text: str) -> "Gate":
        """Read a gate such as "unique_sequences > 0" or "curated[10] > 0"."""
        found = condition(text, FIGURES, "unique_sequences>0", UNGATED)
        if found.figure in KEYS and found.key not in KEYS[found.figure]:
            raise LeakscopeError(
                f"'{text}' is not a gate: {found.figure} has {', '.join(KEYS[found.figure])}."
            )
        if found.figure in BY_LENGTH and not (found.key or "").removesuffix("+").isdecimal():
            raise LeakscopeError(
                f"'{text}' is not a gate: name a length, as in '{found.figure}[5]>0', or all from "
                f"one on, as in '{found.figure}[5+]>0'."
            )
        return Gate(text, found.figure, found)

    def value(
        self,
        metrics: Metrics,
        guarantee: Guarantee | None = None,
        public: PublicModelRecord | None = None,
    ) -> float:
        """The metric, or the DP epsilon of `guarantee`. What is unmeasured, void because of an
        insecure seed, a large delta or too few users, measured in a run that carries a warning, or
        judged by a public model that carries one is an error, never a pass.
        """
        if self.metric == DP_EPSILON:
            return self._dp_epsilon(guarantee)
        doubts = public.warnings if public is not None and self.metric in JUDGED else ()
        for warning in (*metrics.warnings, *doubts):
            raise self._unchecked(warning[:1].lower() + warning[1:].removesuffix("."))
        value = _measured(metrics, self.metric)
        if value is not None and self.condition.key is not None:
            value = self._one_of(value, self.condition.key, metrics)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._unchecked(metrics.reasons.get(self.metric, "it is not one number"))
        if self.metric in CONFIRMED and metrics.too_few_to_confirm:
            held = metrics.chance_source != "stand-ins"
            raise self._unchecked(
                ("with so little held-out text, " if held else "")
                + f"fewer than {metrics.least_confirmable:,} unique sequences cannot be told from "
                + f"chance; {'hold out more, or ' if held else ''}gate on unique_sequences"
            )
        if self.metric in CONFIRMED and not metrics.confirmed_unique and metrics.more_than_chance:
            least = int(metrics.excess_unique_low or 0)
            raise self._unchecked(
                f"at least {least:,} unique sequences are more than chance, though none of them "
                f"can be told from the others; gate on excess_unique"
            )
        self._require_judged(float(value), metrics)
        return float(value)

    def _require_judged(self, value: float, metrics: Metrics) -> None:
        """Raise where the value passes, but what nobody could judge might not."""
        advice = "give --public crossfit or --stand-ins crossfit, or gate on unique_sequences"
        if self.condition.holds(value):
            return
        unjudged, memory = metrics.unjudged_unique or 0, metrics.chance_maybe_memory or 0.0
        most = math.inf if self.metric == "confirmed_epsilon" else value + unjudged
        if self.metric in CONFIRMED and unjudged and self.condition.holds(most):
            raise self._unchecked(
                f"{unjudged:,} unique sequences may be more than chance, which held-out documents "
                f"alone cannot tell; {advice}"
            )
        if self.metric in EXCESS and self.condition.holds(value + memory):
            raise self._unchecked(
                f"about {memory:,.0f} of the {metrics.chance_unique or 0:,.0f} sequences by chance "
                f"may be memory; {advice}"
            )

    def holds(
        self,
        metrics: Metrics,
        guarantee: Guarantee | None = None,
        public: PublicModelRecord | None = None,
    ) -> bool:
        """Whether the metric is on the failing side."""
        return self.condition.holds(self.value(metrics, guarantee, public))

    def verdict(self, metrics: Metrics, manifest: RunManifest) -> GateVerdict:
        """What it says of a run; null where it cannot be checked."""
        known = (metrics, guarantee_of(manifest), manifest.public)
        try:
            value, holds = self.value(*known), self.holds(*known)
        except LeakscopeError as error:
            return GateVerdict(
                gate=self.text, passed=None, reason=str(error).partition(UNCHECKED)[2]
            )
        return GateVerdict(gate=self.text, passed=not holds, value=value)

    def _one_of(self, numbers: Mapping[Any, float], key: str, metrics: Metrics) -> float | None:
        if self.metric in BY_LENGTH:
            first = int(key.removesuffix("+"))
            last = math.inf if key.endswith("+") else first
            found = [number for length, number in numbers.items() if first <= length <= last]
            if BY_LENGTH[self.metric] is max:
                unique = [n for n in metrics.unique_by_length if first <= n <= last]
                if not unique:
                    raise self._unchecked("no unique sequence has so many words")
                if len(found) < len(unique):
                    raise self._unchecked("a ratio is beyond any number")
            return BY_LENGTH[self.metric](found)
        if self.metric in KEYS:
            if key.endswith(".out") and not numbers.get(f"{key.removesuffix('.out')}.tried"):
                raise self._unchecked("no prompt of this kind was tried")
            return numbers.get(key, 0)
        for known, number in numbers.items():
            if str(known) == key or float(known) == _number(key):
                return number
        raise self._unchecked(f"{self.metric} was measured for {', '.join(map(str, numbers))} only")

    def _unchecked(self, why: str) -> LeakscopeError:
        return LeakscopeError(f"The gate '{self.text}' {UNCHECKED}{why}.")

    def _dp_epsilon(self, guarantee: Guarantee | None) -> float:
        why = "the training tells no DP epsilon here"
        if guarantee is not None and guarantee.epsilon is not None and not guarantee.insecure:
            if guarantee.unchecked is not None:
                raise self._unchecked(guarantee.unchecked)
            if not guarantee.doubts:
                return guarantee.epsilon
            first = guarantee.doubts[0]
            raise self._unchecked(f"{first[0].lower()}{first[1:]}".removesuffix("."))
        if guarantee is not None:
            why = INSECURE if guarantee.insecure else guarantee.reason or why
        raise self._unchecked(why)


def _measured(metrics: Metrics, name: str) -> Any:
    """A metric as its number, or as numbers by the keys of gates."""
    value = getattr(metrics, name)
    if name == "audited":  # null means all
        return metrics.asked.model_dump()
    if name == "elsewhere" and value is not None:
        return {f"{kind}.{what}": n for kind, told in value.items() for what, n in told.items()}
    return value


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
