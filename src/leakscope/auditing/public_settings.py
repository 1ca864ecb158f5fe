"""Which public model a report is judged by."""

from dataclasses import dataclass
from pathlib import Path

RETRAIN, CROSSFIT = "retrain", "crossfit"


@dataclass(frozen=True)
class PublicSettings:
    """Which public model a report is judged by, if any."""

    public: str | None = None
    """A model that never saw these users, to tell private sequences from plain language: a model
    directory; 'retrain', to train one without the owners of unique sequences; or 'crossfit', to
    train --folds of them, each without a part of the users."""
    folds: int = 5
    """Cross-fitted models to train."""
    public_dir: Path | None = None
    """Where public models that are trained here are kept and found again; by default beside the
    model."""
    stand_ins: str | None = None
    """Judge what is chance by models that stand in for the audited one before users that they never
    saw, not by held-out documents: 'crossfit', to train one more of them than --folds, or a folder
    of such models. Confirms also what users repeat, and short lists."""
    warm_start: Path | None = None
    """What the audited model was started from, if public models are to be trained alike."""

    @property
    def kind(self) -> str | None:
        """given, retrain or crossfit; None: no public model."""
        if self.public is None or self.public in (RETRAIN, CROSSFIT):
            return self.public
        return CROSSFIT if (Path(self.public) / "folds.json").exists() else "given"

    @property
    def given(self) -> tuple[Path, ...]:
        """The models that are there already; the others are yet to be trained."""
        named = (self.public, self.stand_ins)
        return tuple(Path(each) for each in named if each not in (None, RETRAIN, CROSSFIT))
