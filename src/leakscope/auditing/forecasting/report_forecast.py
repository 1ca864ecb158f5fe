"""What a report would take, from a sample of the documents, scored by the model itself."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from leakscope.auditing.forecasting.peak_memory import peak_memory
from leakscope.auditing.forecasting.rehearsal import SET_UP, START
from leakscope.auditing.public_settings import CROSSFIT, RETRAIN, PublicSettings
from leakscope.auditing.public_training import beside, folds_folder
from leakscope.auditing.report_job import ReportJob, snapshots_in
from leakscope.auditing.stand_in_models import FOLDER as STAND_INS
from leakscope.auditing.stand_in_models import MORE_FOLDS
from leakscope.corpus.store import Corpus
from leakscope.engine.local_engine import LocalEngine
from leakscope.engine.progress import silent
from leakscope.leakage.chance.held_out_runs import held_out_scoring
from leakscope.leakage.correct_runs.corpus_scoring import CorpusScoring
from leakscope.leakage.correct_runs.occurrences import collect
from leakscope.leakage.pipeline import piece_words
from leakscope.leakage.run_directory import WORK
from leakscope.leakage.subject import Subject
from leakscope.models.interface import LanguageModel
from leakscope.models.subword.hub import find_model
from leakscope.models.subword.loading import is_pretrained
from leakscope.records.artifacts import read_json, read_parquet
from leakscope.records.documents import Documents
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import check_claimable
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.work_forecast import Forecast, ForecastStage, kept_said
from leakscope.training.checkpoint import RECORD as CHECKPOINT
from leakscope.training.checkpoint import Checkpoint
from leakscope.training.history import HISTORY

ENOUGH = 2.0
"""Seconds of scoring that are timed."""
FIRST_WORDS, MOST_WORDS = 1_000, 400_000
"""Words of the first sample; each is twice as large as the one before, up to the second number."""
COUNTED = 2e6
"""Words of D that are counted in a second, at the least."""
GATHERED = 6e-6
"""Seconds to gather an occurrence, look for it in contexts and write it, about."""
IN_MEMORY, ON_DISK = 64, 130
"""Bytes of an occurrence, about, with what is sorted beside it; and in files, with the parts that
tables are put together from."""
UNKNOWN = "how many unique sequences there are is not known yet"


@dataclass(frozen=True)
class TimedScoring:
    """A sample of documents, scored."""

    words: int
    seconds: float
    occurrences: int
    """Maximal runs of correct words among them."""

    @property
    def seconds_a_word(self) -> float:
        """Of one process."""
        return self.seconds / self.words


def timed_scoring(
    model: LanguageModel,
    corpus: Corpus,
    settings: ReportSettings,
    clock: Callable[[], float] = time.perf_counter,
) -> TimedScoring:
    """Score larger and larger samples until that takes long enough to be timed."""
    documents, size = _some(corpus, model), FIRST_WORDS
    while True:
        some = next(documents.pieces(size))
        begin = clock()
        every = settings.full_perplexity
        scores = model.score(some, top_k=settings.top_k, every_probability=every)
        seconds = clock() - begin
        if seconds >= ENOUGH or size >= MOST_WORDS or len(some) == len(documents):
            found = collect(some, scores, settings.top_k)
            return TimedScoring(len(some.ids), max(seconds, 1e-9), len(found.users))
        size *= 2


def _some(corpus: Corpus, model: LanguageModel) -> Documents:
    """The first documents that there are. Users are in hash order, so they are as good as any."""
    for chunk in corpus.documents(texts=model.needs_text):
        if len(chunk):
            return chunk
    raise LeakscopeError("There are no documents to report on.")


@dataclass(frozen=True)
class KeptScores:
    """Words whose scores a killed report has kept."""

    trained_on: int = 0
    held_out: int = 0


@dataclass(frozen=True)
class KeptTrainings:
    """What is there of models that are trained for a report."""

    finished: int = 0
    steps: int = 0
    """In the checkpoints of those that are begun."""
    seconds: float = 0.0
    """What these steps took."""


@dataclass(frozen=True)
class ReportForecaster:
    """What is asked for, and what is known of the model's training."""

    corpus: Corpus
    settings: ReportSettings
    public: PublicSettings
    workers: int
    training: float | None
    """Seconds that the training of such a model takes; None: not known."""
    trained: Callable[[int, str], KeptTrainings]
    """What is there already of so many cross-fitted models, by the name of what they are for."""
    kept: KeptScores = field(default_factory=KeptScores)
    reports: int = 1
    """How many are made, each on a snapshot."""

    def forecast(self, load: Callable[[], LanguageModel]) -> Forecast:
        """Of a report on a model."""
        begin = time.perf_counter()
        model = load()
        set_up = START + self.reports * (time.perf_counter() - begin)
        timed = timed_scoring(model, self.corpus, self.settings)
        words = self.corpus.counts().words
        runs = timed.occurrences * words // max(timed.words, 1)
        notes = [f"Timed on {timed.words:,} of {words:,} words, with one process."]
        if self.reports > 1:
            notes.append(f"There are {self.reports} snapshots to report on; one of them was timed.")
        return Forecast(
            stages=(
                ForecastStage(name=SET_UP, work="the model", seconds=set_up),
                *self._stages(timed, words, runs),
            ),
            memory=peak_memory() * self.workers + runs * IN_MEMORY,
            disk=runs * ON_DISK * self.reports,
            notes=tuple(notes),
        )

    def _stages(self, timed: TimedScoring, words: int, runs: int) -> Iterator[ForecastStage]:
        public = self.public
        if public.public == CROSSFIT:
            yield self._trainings("public models", public.folds, CROSSFIT)
        elif public.public == RETRAIN:
            yield self._trainings("public model", 1, RETRAIN)
        if public.stand_ins == CROSSFIT:
            yield self._trainings("stand-ins", public.folds + MORE_FOLDS, STAND_INS)
        more, kept = f"; some {runs:,} correct runs", self.kept
        yield self._pass("score", timed, words, more, kept.trained_on)
        if public.stand_ins is not None:
            yield self._pass(STAND_INS, timed, words)
        held_out = self.corpus.held_out.words
        asked = self.settings.decoy_words
        if public.stand_ins is None and held_out and asked != 0:
            read = held_out if asked is None else min(asked, held_out)
            yield self._pass("held-out", timed, read, "", kept.held_out)
        seconds = self.reports * words / COUNTED
        yield ForecastStage(name="count", work=f"{words:,} words", seconds=seconds)
        gathered = self.reports * runs * GATHERED
        yield ForecastStage(name="collect and write", work=f"{runs:,} runs", seconds=gathered)
        yield ForecastStage(
            name="look closer", work="the unique sequences", seconds=None, reason=UNKNOWN
        )

    def _pass(
        self, name: str, timed: TimedScoring, words: int, more: str = "", kept: int = 0
    ) -> ForecastStage:
        seconds = max(0, words * self.reports - kept) * timed.seconds_a_word / self.workers
        work = f"{words:,} words{kept_said(kept)}{more}"
        return ForecastStage(name=name, work=work, seconds=seconds)

    def _trainings(self, name: str, folds: int, kind: str) -> ForecastStage:
        """Each fold is trained on the users of the others."""
        kept = KeptTrainings() if kind == RETRAIN else self.trained(folds, kind)
        if kept.finished == folds:
            return ForecastStage(name=name, work=f"{folds} are there already", seconds=0.0)
        share = (folds - 1) / folds if folds > 1 else 1
        work = f"{folds} trainings" if folds > 1 else "one training"
        work += kept_said(kept.finished)
        work += f"; {kept.steps:,} steps of one that is begun" if kept.steps else ""
        if self.training is None:
            why = "how long the model was trained is not known"
            return ForecastStage(name=name, work=work, seconds=None, reason=why)
        seconds = max(0.0, self.training * share * (folds - kept.finished) - kept.seconds)
        return ForecastStage(name=name, work=work, seconds=seconds)


def training_seconds(model: Path) -> float | None:
    """How long a model of ours was trained, with its snapshots; None: its history is not here."""
    home = model.parent.parent if model.parent.name == "snapshots" else model
    if not (home / HISTORY).exists():
        return None
    seconds = read_parquet(home / HISTORY, ["seconds"])["seconds"].to_pylist()
    return float(seconds[-1]) if seconds and seconds[-1] else None


def are_there(public: PublicSettings, model: Path, folds: int, kind: str) -> KeptTrainings:
    """What is there of so many cross-fitted models, as public ones or stand-ins."""
    folder = public.public_dir or beside(model)
    home = folds_folder(folder / STAND_INS if kind == STAND_INS else folder, folds)
    each = [home / f"fold-{fold:03d}" for fold in range(folds)]
    due = [fold for fold in each if not (fold / "config.json").exists()]
    begun = [
        read_json(fold / CHECKPOINT, Checkpoint, "a training")
        for fold in due
        if (fold / CHECKPOINT).exists()
    ]
    return KeptTrainings(
        folds - len(due),
        sum(state.total_steps for state in begun),
        sum(state.seconds for state in begun),
    )


def kept_scores(job: ReportJob, subject: Subject, work: Path) -> KeptScores:
    """What a killed report has scored and kept in `work`."""
    scoring = CorpusScoring(job.corpus, work, LocalEngine(), silent, subject.users)
    piece = piece_words(subject)
    scored = scoring.kept_words(subject.identity, job.settings, piece)
    if not job.corpus.held_out.words:
        return KeptScores(scored)
    held, plain = held_out_scoring(scoring, job.settings)
    return KeptScores(scored, round(held.share * held.kept_words(subject.identity, plain, piece)))


def report_forecast(job: ReportJob, model: Path, out: Path | None = None) -> Forecast:
    """What a report on a model would take, from a sample of the documents. `out`: where a killed
    one may have left something.
    """
    path = find_model(model)
    ours = not is_pretrained(path)
    job = job.for_model(ours=ours)
    reports, kept = 1, KeptScores()
    if job.running.snapshots:
        due = snapshots_in(path) if out is None else job.due_snapshots(path, out)
        path, reports = snapshots_in(path)[-1], len(due)
    subject = job.subject(path, None)
    if out is not None and not job.running.snapshots:
        check_claimable(out, "report")
        kept = kept_scores(job, subject, out / WORK)
    forecaster = ReportForecaster(
        job.corpus,
        job.settings,
        job.public,
        job.running.workers,
        training=training_seconds(path) if ours else None,
        trained=partial(are_there, job.public, path),
        kept=kept,
        reports=reports,
    )
    return forecaster.forecast(subject.load)
