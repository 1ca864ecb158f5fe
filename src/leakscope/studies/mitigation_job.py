"""What a study of mitigations is asked to do."""

from dataclasses import dataclass

from leakscope.canaries.canary_settings import AttackSettings, ExposureSettings, PlantSettings
from leakscope.corpus.store import Corpus
from leakscope.engine.time_left import PlannedStage
from leakscope.records.errors import LeakscopeError
from leakscope.studies.planned_training import PlannedTraining
from leakscope.studies.study_plan import study_stages
from leakscope.studies.study_settings import OF_BEST, StudySettings

PLAIN = "none"


@dataclass(frozen=True)
class StudyJob:
    """What is compared, on which corpus, and how it is measured."""

    corpus: Corpus
    trainings: tuple[PlannedTraining, ...]
    settings: StudySettings
    plant: PlantSettings
    exposure: ExposureSettings
    attack: AttackSettings
    threads: int = 2

    def __post_init__(self) -> None:
        if not any(each.mitigation == PLAIN for each in self.trainings):
            raise LeakscopeError(
                "A study holds trainings against a plain one; add a training without a mitigation."
            )
        if not self.corpus.manifest.validation.words:
            raise LeakscopeError(
                "Without validation documents nothing tells when trainings are equally useful; "
                "build the corpus with some."
            )

    @property
    def baseline(self) -> PlannedTraining:
        """The first plain training."""
        return next(each for each in self.trainings if each.mitigation == PLAIN)

    def plan(self) -> list[PlannedStage]:
        """For those who want to know how long it all takes."""
        given = self.settings.targets
        return study_stages(
            self.corpus.manifest.train.words,
            [each.settings.epochs for each in self.trainings],
            len(self.settings.seeds),
            len(given or OF_BEST),
            self.exposure.samples,
            best=None if given else self.baseline.settings.epochs,
        )
