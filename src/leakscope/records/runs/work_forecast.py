"""What a command would do, and what that would take."""

from pydantic import BaseModel, ConfigDict


class ForecastStage(BaseModel):
    """A part of the work."""

    model_config = ConfigDict(frozen=True)

    name: str
    work: str
    """What it is done to, in words."""
    seconds: float | None
    """How long it would take; None: that is not known, and `reason` says why."""
    reason: str | None = None


class Forecast(BaseModel):
    """All of the work, in its order."""

    model_config = ConfigDict(frozen=True)

    stages: tuple[ForecastStage, ...]
    memory: int | None = None
    """Bytes at the most, about; None: not known."""
    disk: int | None = None
    """Bytes that the result takes, about, with what is kept on the way."""
    notes: tuple[str, ...] = ()
    """What else there is to know, a sentence each."""

    @property
    def seconds(self) -> float:
        """Of all stages that are known."""
        return sum(stage.seconds or 0.0 for stage in self.stages)

    @property
    def whole(self) -> bool:
        """Whether the time of every stage is known."""
        return all(stage.seconds is not None for stage in self.stages)


def kept_said(count: int) -> str:
    """What is said of a stage's work, so many parts of which an earlier attempt has kept."""
    return f"; {count:,} {'is' if count == 1 else 'are'} kept" if count else ""
