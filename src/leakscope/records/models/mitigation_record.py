"""What a model's config says of the mitigation that the model was trained with."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class MitigationRecord(BaseModel):
    """The record of any mitigation. Those that this package knows have a class of their own; the
    values of all others are kept as they were read.
    """

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, extra="allow")

    kind: str
    """The name by which the command line knows the mitigation."""

    def summary(self) -> str:
        """One line for tables: the kind, and every value that is a number or a word."""
        values = self.model_dump(mode="json", exclude={"kind"})
        plain = {name: value for name, value in values.items() if _fits(value)}
        told = (f"{name.replace('_', ' ')} {_short(value)}" for name, value in plain.items())
        return ", ".join([self.kind, *told])


class PlainRecord(MitigationRecord):
    """Of a training without any mitigation."""

    kind: Literal["none"] = "none"


def _fits(value: object) -> bool:
    return isinstance(value, str | int | float)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
