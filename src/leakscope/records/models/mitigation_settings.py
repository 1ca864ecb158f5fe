"""What the settings of every mitigation have in common."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar, Self


@dataclass(frozen=True)
class MitigationSettings:
    """What a mitigation is told. Each mitigation has a subclass, with a field for every option. A
    field named `insecure_seed` is secret: configs tell only that it was given.
    """

    kind: ClassVar[str]
    """The name by which the command line and configs know the mitigation."""
    title: ClassVar[str]
    """Its name in sentences."""
    forbids_seen_start: ClassVar[str | None] = None
    """Why the training must not start from weights that saw its text, as the end of a sentence;
    None: it may."""

    dropout: ClassVar[float | None] = None
    """The dropout of a training that is told none; None: the preset's."""

    @classmethod
    def usual(cls, given: Collection[str]) -> dict[str, Any]:
        """Fields to fill in where only the `given` ones are told."""
        return {}

    def check(self, *, dropout: float, snapshot_steps: int | None) -> None:
        """Refuse settings of the training itself that do not go together with these."""

    def repeated(self, record: Any) -> Self:
        """Settings that give the same mechanism to another training, on fewer users. `record` is
        the mitigation's own and says what these settings came to.
        """
        return self
