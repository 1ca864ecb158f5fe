"""Gates: conditions on metrics that fail a pipeline."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from leakscope.records.errors import LeakscopeError
from leakscope.records.run import Metrics

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
class Gate:
    """A metric, a comparison and a number; the pipeline fails if it holds."""

    text: str
    metric: str
    comparison: str
    bound: float

    @staticmethod
    def parse(text: str) -> "Gate":
        """Read a gate such as "unique_sequences > 0"."""
        found = _FORM.fullmatch(text)
        numbers = [
            name
            for name, field in Metrics.model_fields.items()
            if field.annotation in (int, float, int | None, float | None)
        ]
        if found is None or found[1] not in numbers:
            raise LeakscopeError(
                f"'{text}' is not a gate: write a metric, a comparison and a number, such as "
                f"'unique_sequences>0'; metrics are {', '.join(numbers)}."
            )
        return Gate(text, found[1], found[2], float(found[3]))

    def value(self, metrics: Metrics) -> float:
        """The metric; unmeasured is an error, never a pass."""
        value = getattr(metrics, self.metric)
        if isinstance(value, bool) or not isinstance(value, int | float):
            reason = metrics.reasons.get(self.metric, "it is not one number")
            raise LeakscopeError(f"The gate '{self.text}' cannot be checked: {reason}.")
        return float(value)

    def holds(self, metrics: Metrics) -> bool:
        """Whether the metric is on the failing side."""
        return _OPERATORS[self.comparison](self.value(metrics), self.bound)
