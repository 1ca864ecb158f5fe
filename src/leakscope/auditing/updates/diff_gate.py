"""Gates on what an update gives away."""

from dataclasses import dataclass

from leakscope.auditing.gating.conditions import Condition, condition, numbers_of
from leakscope.records.errors import LeakscopeError
from leakscope.records.updates.diff_record import DiffMetrics, DiffReport


@dataclass(frozen=True)
class DiffGate:
    """A figure of `diff.json`, a comparison and a number; the pipeline fails if it holds."""

    text: str
    condition: Condition

    @staticmethod
    def parse(text: str) -> "DiffGate":
        """Read a gate such as "one_user_found>0"."""
        return DiffGate(text, condition(text, numbers_of(DiffMetrics), "one_user_found>0"))

    def value(self, report: DiffReport) -> float:
        """The figure. What was not measured is an error, never a pass."""
        figure = self.condition.figure
        value = getattr(report.metrics, figure)
        if value is None:
            reason = report.metrics.reasons.get(figure, "it was not measured")
            raise LeakscopeError(f"The gate '{self.text}' cannot be checked: {reason}.")
        return float(value)

    def holds(self, report: DiffReport) -> bool:
        """Whether the figure is on the failing side."""
        return self.condition.holds(self.value(report))
