"""One number of a run as people read it: what it is called, what it is, what it means."""

from dataclasses import dataclass

from leakscope.records.runs.run_metrics import Metrics
from leakscope.reporting.facts import values


@dataclass(frozen=True)
class Fact:
    """One headline number."""

    name: str
    """Its name in `metrics.json`, or in a row of a comparison."""
    label: str
    value: str
    """As shown; a dash where it is unmeasured."""
    meaning: str
    """One plain sentence."""
    detail: str = ""
    """What stands small beside the value."""
    reason: str | None = None
    """Why it is unmeasured."""

    @property
    def text(self) -> str:
        """The value with its detail or reason, on one line."""
        note = self.reason if self.reason is not None else self.detail
        return f"{self.value} ({note})" if note else self.value


def absent(metrics: Metrics, name: str, label: str, meaning: str) -> Fact:
    """A metric that is null, and why."""
    return Fact(name, label, values.ABSENT, meaning, reason=values.reason(metrics, name))
