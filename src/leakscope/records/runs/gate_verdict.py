"""What a gate said of a run."""

from pydantic import BaseModel, ConfigDict


class GateVerdict(BaseModel):
    """One gate, such as `unique_sequences>0`; the pipeline fails if it holds."""

    model_config = ConfigDict(frozen=True)

    gate: str
    passed: bool | None
    """Null: it could not be checked, which is no pass."""
    value: float | None = None
    """Of the metric."""
    reason: str | None = None
    """Why it could not be checked."""

    @property
    def word(self) -> str:
        """PASS, FAIL, or that neither can be said."""
        return "UNCHECKED" if self.passed is None else "PASS" if self.passed else "FAIL"
