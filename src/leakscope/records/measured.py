"""A measured value, or the reason why there is none: the two always travel together."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True)
class Measured(Generic[Value]):
    """A value or the reason for its absence, never both; neither: nobody has said yet."""

    value: Value | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.value is not None and self.reason is not None:
            raise ValueError("A value that was measured has no reason to be absent.")

    @staticmethod
    def of(value: Value | None, otherwise: str | None = None) -> "Measured[Value]":
        """The value; where it is None, the reason `otherwise`."""
        return Measured(value, otherwise if value is None else None)

    @staticmethod
    def absent(reason: str) -> "Measured[Value]":
        """No value, and why."""
        return Measured(None, reason)

    @property
    def said(self) -> bool:
        """Whether anybody has measured it or told why not."""
        return self.value is not None or self.reason is not None

    def or_else(self, other: "Measured[Value]") -> "Measured[Value]":
        """This, or `other` where nobody has said anything here."""
        return self if self.said else other


UNSAID: Measured[Any] = Measured()
"""Nobody has measured it, or told why not."""
