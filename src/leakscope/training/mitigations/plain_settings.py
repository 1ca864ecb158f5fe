"""What a training without any mitigation is told: nothing more."""

from dataclasses import dataclass
from typing import ClassVar

from leakscope.records.models.mitigation_settings import MitigationSettings


@dataclass(frozen=True)
class PlainSettings(MitigationSettings):
    """Plain training."""

    kind: ClassVar[str] = "none"
    title: ClassVar[str] = "plain training"


PLAIN = PlainSettings()
