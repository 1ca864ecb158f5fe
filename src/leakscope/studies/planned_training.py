"""A training that a study makes, under its name."""

from dataclasses import dataclass

from leakscope.records.studies.study_record import StudyTraining
from leakscope.training.train_settings import TrainSettings


@dataclass(frozen=True)
class PlannedTraining:
    """A training that is compared with others."""

    name: str
    settings: TrainSettings
    """Its seed is the study's."""

    @property
    def mitigation(self) -> str:
        """The name of what it does against leakage."""
        return self.settings.mitigation.kind

    def described(self) -> StudyTraining:
        """As the record of a study lists it."""
        return StudyTraining(
            name=self.name, mitigation=self.mitigation, settings=self.settings.shareable()
        )
