"""Gates: conditions on metrics that fail a pipeline."""

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from leakscope.records.errors import LeakscopeError
from leakscope.records.models.public_model import PublicModelRecord
from leakscope.records.runs.run_metrics import Metrics
from leakscope.reporting.facts.guarantee import INSECURE, Guarantee

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
_FORM = re.compile(r"\s*(\w+)\s*(>=|<=|==|!=|>|<)\s*([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*")


@dataclass(frozen=True)
class Condition:
    """A figure, a comparison and a number."""

    figure: str
    comparison: str
    bound: float

    def holds(self, value: float) -> bool:
        """Whether the figure's value is on the failing side."""
        return _OPERATORS[self.comparison](value, self.bound)


def condition(text: str, figures: Sequence[str], example: str) -> Condition:
    """Read a condition such as "unique_sequences > 0" on one of some figures."""
    found = _FORM.fullmatch(text)
    if found is None or found[1] not in figures:
        raise LeakscopeError(
            f"'{text}' is not a gate: write a metric, a comparison and a number, such as "
            f"'{example}'; metrics are {', '.join(figures)}."
        )
    return Condition(found[1], found[2], float(found[3]))


def numbers_of(record: type[BaseModel]) -> list[str]:
    """The fields of a record that are one number, if they were measured."""
    return [
        name
        for name, field in record.model_fields.items()
        if field.annotation in (int, float, int | None, float | None)
    ]


DP_EPSILON = "dp_epsilon"
"""The one number of a gate that is no metric of the report, but is told by the model's training."""
JUDGED = ("leakage_epsilon", "public_unique_sequences", "public_unknown_sequences")
"""Metrics that hang on the public model: if that may know the users, they are too low."""


@dataclass(frozen=True)
class Gate:
    """A metric, a comparison and a number; the pipeline fails if it holds."""

    text: str
    metric: str
    condition: Condition

    @staticmethod
    def parse(text: str) -> "Gate":
        """Read a gate such as "unique_sequences > 0"."""
        found = condition(text, [*numbers_of(Metrics), DP_EPSILON], "unique_sequences>0")
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
            why = warning[:1].lower() + warning[1:]
            raise LeakscopeError(f"The gate '{self.text}' cannot be checked: {why}")
        value = getattr(metrics, self.metric)
        if isinstance(value, bool) or not isinstance(value, int | float):
            reason = metrics.reasons.get(self.metric, "it is not one number")
            raise LeakscopeError(f"The gate '{self.text}' cannot be checked: {reason}.")
        return float(value)

    def holds(
        self,
        metrics: Metrics,
        guarantee: Guarantee | None = None,
        public: PublicModelRecord | None = None,
    ) -> bool:
        """Whether the metric is on the failing side."""
        return self.condition.holds(self.value(metrics, guarantee, public))

    def _dp_epsilon(self, guarantee: Guarantee | None) -> float:
        why = "the training tells no DP epsilon here"
        if guarantee is not None and guarantee.epsilon is not None and not guarantee.insecure:
            if guarantee.unchecked is not None:
                raise LeakscopeError(
                    f"The gate '{self.text}' cannot be checked: {guarantee.unchecked}."
                )
            if not guarantee.doubts:
                return guarantee.epsilon
            first = guarantee.doubts[0]
            raise LeakscopeError(
                f"The gate '{self.text}' cannot be checked: {first[0].lower()}{first[1:]}"
            )
        if guarantee is not None:
            why = INSECURE if guarantee.insecure else guarantee.reason or why
        raise LeakscopeError(f"The gate '{self.text}' cannot be checked: {why}.")
