"""The stages that a report will have, and about what each costs, so that the time that is left over
all of them can be told.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from leakscope.corpus.store import Corpus
from leakscope.engine.time_left import PlannedStage
from leakscope.leakage.scrutiny.public_stage import STAGE as PUBLIC
from leakscope.records.runs.report_settings import ReportSettings

# Costs in passes of the model over a word.
TRAINED = 4.0
"""A word, once, in training."""
COLLECTED, COUNTED, WRITTEN = 0.01, 0.02, 0.02
CLOSER, JUDGED = 0.1, 0.5
"""To look closer at a word of D; to ask the public model about it as well."""


@dataclass(frozen=True)
class ReportPlan:
    """What a report is asked to do."""

    corpus: Corpus
    settings: ReportSettings
    fold_sets: tuple[int, ...] = ()
    """Of each set of cross-fitted models that is trained first, how many they are."""
    epochs: int = 1
    """Of the training of such a model."""
    judged: bool = False
    """Whether there is a public model."""
    stand_ins: bool = False
    """Whether chance is measured on stand-ins."""

    def stages(self, prefix: str = "") -> list[PlannedStage]:
        """In their order; those of the report itself have names that begin with `prefix`."""
        own = [PlannedStage(f"{prefix}{each.name}", each.weight) for each in self._of_report()]
        return [*self._of_trainings(), *own]

    def _of_trainings(self) -> Iterator[PlannedStage]:
        words = self.corpus.counts().words
        for folds in self.fold_sets:
            weight = TRAINED * self.epochs * words * (folds - 1) / folds
            for fold in range(folds):
                yield PlannedStage(f"fold-{fold:03d} train", weight)

    def _of_report(self) -> Iterator[PlannedStage]:
        words, asked = self.corpus.counts().words, self.settings.decoy_words
        yield PlannedStage("score", words)
        yield PlannedStage("collect", COLLECTED * words)
        yield PlannedStage("count", COUNTED * words)
        if self.stand_ins:
            yield PlannedStage("stand-ins", words)
        elif self.corpus.held_out.words and asked != 0:
            held_out = self.corpus.held_out.words
            yield PlannedStage("held-out", held_out if asked is None else min(asked, held_out))
        yield PlannedStage("look closer", CLOSER * words)
        if self.judged:  # in the middle of the closer look
            yield PlannedStage(PUBLIC, JUDGED * words)
        yield PlannedStage("write", WRITTEN * words)
