"""Which models a study of updates trains, and what they read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from leakscope.engine.time_left import PlannedStage
from leakscope.studies.planned_training import PlannedTraining
from leakscope.studies.updates.update_pairs import UpdateCase
from leakscope.studies.updates.update_settings import UpdateStudySettings

CANARY_WORDS = 5
"""Of a canary, about."""
MEASURED = 0.3
"""The diffs of an update cost as much as such a share of an epoch, about."""


@dataclass(frozen=True)
class UpdateTraining:
    """A training of a study of updates."""

    name: str
    training: PlannedTraining
    share: float
    """Of the corpus that it reads, in each epoch."""
    epochs: int


def trainings_of(
    cases: Iterable[UpdateCase], how: UpdateStudySettings, words: int
) -> Iterator[UpdateTraining]:
    """Of one seed, on a corpus of so many words. Those that several updates share come once."""
    for _, trainings in _by_case(cases, how, words):
        yield from trainings


def update_stages(
    cases: Iterable[UpdateCase], how: UpdateStudySettings, words: int
) -> list[PlannedStage]:
    """The updates of all seeds, each with the trainings that it needs first."""
    weights = [
        MEASURED + sum(each.share * each.epochs for each in trainings)
        for _, trainings in _by_case(cases, how, words)
    ]
    return [
        PlannedStage(update_name(place), weight)
        for place, weight in enumerate(weights * len(how.seeds))
    ]


def update_name(number: int) -> str:
    """Of an update, in the order in which they are made."""
    return f"update {number}"


def _by_case(
    cases: Iterable[UpdateCase], how: UpdateStudySettings, words: int
) -> Iterator[tuple[UpdateCase, list[UpdateTraining]]]:
    seen: set[str] = set()
    for case in cases:
        new = [each for each in _of_case(case, how, words) if each.name not in seen]
        seen.update(each.name for each in new)
        yield case, new


def _of_case(case: UpdateCase, how: UpdateStudySettings, words: int) -> Iterator[UpdateTraining]:
    training, base, added = case.training, 1 - how.pool, case.extra * how.pool
    epochs = training.settings.epochs
    shorter = how.update_epochs or epochs
    canaries = 4 * how.per_class * case.insertions * CANARY_WORDS / max(1, words)
    name = f"{training.name} {case.scenario} {case.insertions} {case.extra}"
    if case.scenario != "specialize":
        yield UpdateTraining(f"{training.name} first", training, base, epochs)
    if case.scenario in ("retrain", "delete"):
        yield UpdateTraining(name, training, base + added + canaries, epochs)
    elif case.scenario == "specialize":
        yield UpdateTraining(name, training, base + added + canaries, shorter)
    elif case.scenario == "continue":
        yield UpdateTraining(name, training, added + canaries, shorter)
    else:
        between = f"{training.name} between {case.insertions}"
        yield UpdateTraining(between, training, canaries, shorter)
        yield UpdateTraining(name, training, added, shorter)
