"""Conditions on figures that fail a pipeline, as texts."""

import operator
import re
from collections.abc import Callable, Sequence
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
_FORM = re.compile(
    r"\s*(\w+)(?:\[([^\]]+)\])?\s*(>=|<=|==|!=|>|<)\s*([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)\s*"
)


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


def condition(text: str, figures: Sequence[str], example: str) -> Condition:
    """Read a condition such as "unique_sequences > 0" on one of some figures."""
    found = _FORM.fullmatch(text)
    if found is None or (found[1] if found[2] is None else f"{found[1]}[...]") not in figures:
        raise LeakscopeError(
            f"'{text}' is not a gate: write a metric, a comparison and a number, such as "
            f"'{example}'; metrics are {', '.join(figures)}."
        )
    return Condition(found[1], found[3], float(found[4]), found[2])


def numbers_of(record: type[BaseModel]) -> list[str]:
    """The fields of a record that are one number, if they were measured."""
    return [
        name
        for name, field in record.model_fields.items()
        if field.annotation in (int, float, int | None, float | None)
    ]
