"""Conditions on figures that fail a pipeline, as texts."""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from leakscope.records.errors import LeakscopeError

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
NUMBER = r"[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|(?i:inf(?:inity)?|nan))"
"""A bound; also what is not finite, to be refused in its own words."""
_FORM = re.compile(rf"\s*(\w+)(?:\[([^\]]+)\])?\s*(>=|<=|==|!=|>|<)\s*({NUMBER})\s*")


@dataclass(frozen=True)
class Condition:
    """A figure, a comparison and a number."""

    figure: str
    comparison: str
    bound: float
    key: str | None = None
    """Of a figure that has several numbers: which, as in `curated[10]`."""

    def holds(self, value: float) -> bool:
        """Whether the figure's value is on the failing side."""
        return _OPERATORS[self.comparison](value, self.bound)


def condition(
    text: str, figures: Sequence[str], example: str, refused: Mapping[str, str] | None = None
) -> Condition:
    """Read a condition such as "unique_sequences > 0" on one of some figures. `refused`: why there
    is none on some others.
    """
    found = _FORM.fullmatch(text)
    why = None if found is None else (refused or {}).get(found[1])
    if why is not None:
        raise LeakscopeError(f"'{text}' is not a gate: {why}.")
    if found is None or (found[1] if found[2] is None else f"{found[1]}[...]") not in figures:
        raise LeakscopeError(
            f"'{text}' is not a gate: write a metric, a comparison and a number, such as "
            f"'{example}'; metrics are {', '.join(figures)}."
        )
    return Condition(found[1], found[3], finite(text, found[4]), found[2])


def finite(text: str, number: str) -> float:
    """The bound of a gate; raise if it is not finite, since such a gate could never fail."""
    bound = float(number)
    if not math.isfinite(bound):
        raise LeakscopeError(
            f"'{text}' is not a gate: no metric can be compared with {number}; give a finite "
            f"number."
        )
    return bound


def numbers_of(record: type[BaseModel]) -> list[str]:
    """The fields of a record that are one number, if they were measured."""
    return [
        name
        for name, field in record.model_fields.items()
        if field.annotation in (int, float, int | None, float | None)
    ]
