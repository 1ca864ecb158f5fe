"""The two models of an update, for each way of updating (section 4.2 of the paper)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from leakscope.canaries.canary_settings import PlantSettings
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.errors import LeakscopeError
from leakscope.studies.canary_steps import plant_step
from leakscope.studies.kept_results import Step
from leakscope.studies.planned_training import PlannedTraining
from leakscope.studies.updates.update_corpora import (
    DELETED,
    TextPart,
    canaries_of,
    corpus_step,
    drawn_users,
    everything,
    held_out,
    of_pool,
    planting,
    pool_of,
    trained_without,
    training_text,
    without,
)
from leakscope.studies.updates.update_settings import UpdateStudySettings
from leakscope.studies.updates.update_steps import StartFrom, update_training_step
from leakscope.training.train_settings import TrainSettings

Make = Callable[[Step], Path]


@dataclass(frozen=True)
class UpdateCase:
    """One update that is to be made."""

    scenario: str
    training: PlannedTraining
    insertions: int
    """Of each canary; 0: there are none."""
    extra: float


@dataclass(frozen=True)
class UpdatePair:
    """The models before and after an update, and what they were trained on."""

    old: Path
    new: Path
    old_corpus: Path | None
    new_corpus: Path
    """All that the newer one was trained on, or only what was added."""
    canaries: Path | None
    """Where they were planted; None: there are none."""
    deleted: bool = False


@dataclass(frozen=True)
class StudyText:
    """What all updates of one seed are made from."""

    corpus: Corpus
    base: Corpus
    """What the first model is trained on: all but the pool."""
    pool: list[str]
    """Users, in random order."""
    planted: dict[int, Path]
    """By insertions."""


class UpdatePairs:
    """Makes the models of one seed's updates."""

    def __init__(
        self, settings: UpdateStudySettings, seed: int, make: Make, progress: Progress
    ) -> None:
        self._settings, self._seed, self._make, self._progress = settings, seed, make, progress

    def text(
        self, corpus: Corpus, plant: PlantSettings, trainings: tuple[PlannedTraining, ...]
    ) -> StudyText:
        """Hold the pool out, and plant the canaries. They are the same for every number of
        insertions.
        """
        settings = self._settings
        pool, base = pool_of(corpus, settings.pool, self._seed), corpus
        if pool:
            base = self._corpus([trained_without(corpus, pool)])
        planted = {}
        if set(settings.scenarios) != {"delete"}:
            for times in settings.insertions:
                asked = replace(planting(base, plant, trainings, times), seed=self._seed)
                planted[times] = self._make(plant_step(base, asked, self._progress))
                _require_longer(planted[times], max(settings.known))
        return StudyText(corpus, base, pool, planted)

    def pair(self, case: UpdateCase, text: StudyText) -> UpdatePair:
        """Both models of an update."""
        extra = [training_text(text.corpus, users)] if (
            users := of_pool(text.pool, case.extra)
        ) else []  # fmt: skip
        if case.scenario == "delete":
            return self._delete(case, text, extra)
        planted, public = text.planted[case.insertions], self._settings.public_model
        if case.scenario == "specialize" and public is not None:
            return self._specialize(case, public, planted, extra)
        old = self._first(case, text)
        if case.scenario == "retrain":
            new_corpus = self._updated(planted, extra)
            new = self._train(new_corpus, self._again(case), StartFrom(vocabulary=old))
        elif case.scenario == "continue":
            added = [held_out(text.base), canaries_of(planted), *extra]
            new_corpus = self._corpus(added)
            new = self._train(new_corpus, self._shorter(case), StartFrom(old, old))
        else:
            new_corpus = self._corpus([held_out(text.base), canaries_of(planted)])
            between = self._train(new_corpus, self._shorter(case), StartFrom(old, old))
            last = self._corpus([held_out(text.base), *extra])
            new = self._train(last, self._shorter(case), StartFrom(between, old))
        return UpdatePair(old, new, text.base.path, new_corpus.path, planted)

    def _first(self, case: UpdateCase, text: StudyText) -> Path:
        """The model before the update, which also has the vocabulary of those after it."""
        settings = replace(case.training.settings, seed=self._seed)
        return self._train(text.base, settings, StartFrom())

    def _delete(self, case: UpdateCase, text: StudyText, extra: list[TextPart]) -> UpdatePair:
        count = self._settings.deleted_users
        gone = drawn_users(text.base, count, self._seed, DELETED, "--deleted-users")
        old = self._first(case, text)
        left = self._corpus([without(text.base, gone), *extra])
        new = self._train(left, self._again(case), StartFrom(vocabulary=old))
        return UpdatePair(old, new, text.base.path, left.path, None, deleted=True)

    def _specialize(
        self, case: UpdateCase, public: Path, planted: Path, extra: list[TextPart]
    ) -> UpdatePair:
        corpus = self._updated(planted, extra)
        new = self._train(corpus, self._shorter(case), StartFrom(public, public))
        return UpdatePair(public, new, None, corpus.path, planted)

    def _updated(self, planted: Path, extra: list[TextPart]) -> Corpus:
        whole = Corpus.open(planted / "corpus")
        return self._corpus([everything(whole), *extra]) if extra else whole

    def _again(self, case: UpdateCase) -> TrainSettings:
        """A training with other first weights."""
        return replace(case.training.settings, seed=self._seed + 1)

    def _shorter(self, case: UpdateCase) -> TrainSettings:
        """A training that goes on from another model."""
        settings = self._again(case)
        epochs = self._settings.update_epochs
        return settings if epochs is None else replace(settings, epochs=epochs)

    def _train(self, corpus: Corpus, settings: TrainSettings, start: StartFrom) -> Path:
        return self._make(update_training_step(corpus, settings, start, self._progress))

    def _corpus(self, parts: list[TextPart]) -> Corpus:
        return Corpus.open(self._make(corpus_step(parts, self._progress)))


def _require_longer(planted: Path, known: int) -> None:
    """Raise if a canary has no word behind so many."""
    words = min(len(each.words) for each in CanaryManifest.load(planted).canaries)
    if words <= known:
        raise LeakscopeError(
            f"Canaries of {words} words have none behind the first {known}; give a smaller --known."
        )
