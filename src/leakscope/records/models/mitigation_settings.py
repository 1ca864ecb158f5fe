"""What the settings of every mitigation have in common."""

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from leakscope.records.models.earlier_config import current_training


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

    def check(self, *, dropout: float, snapshot_steps: int | None) -> None:
        """Refuse settings of the training itself that do not go together with these."""

    def repeated(self, record: Any) -> Self:
        """Settings that give the same mechanism to another training, on fewer users. `record` is
        the mitigation's own and says what these settings came to.
        """
        return self

    def record(self) -> dict[str, Any]:
        """As plain data with the kind. What later versions have added, by the metadata `later` of
        a field, is left out where it is not asked for: trainings of older versions stay what they
        are.
        """
        added = {each.name: each.default for each in fields(self) if each.metadata.get("later")}
        told = asdict(self).items()
        plain = {name: x for name, x in told if name not in added or x != added[name]}
        return {"kind": self.kind, **plain}


def without_seed(training: dict[str, Any]) -> dict[str, Any]:
    """The settings of a training as they may be told: that noise and draws came from a seed, but
    not which, since whoever knows it can subtract the noise. Settings that an older version wrote
    come back in the form of today.
    """
    training = current_training(training)
    mitigation = training.get("mitigation")
    if not isinstance(mitigation, dict) or mitigation.get("insecure_seed") is None:
        return training
    return training | {"mitigation": mitigation | {"insecure_seed": "given"}}
