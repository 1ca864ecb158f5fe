"""One report to make, or one for each snapshot: what is asked, of what, and how it is run."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from leakscope.auditing.endpoint_model import Connection, check_served, served_subject
from leakscope.auditing.gating.gates import Gate
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_loading import with_base_found
from leakscope.auditing.model_subject import subject_of
from leakscope.auditing.provenance import of_model_from_elsewhere, of_our_model
from leakscope.auditing.public_models import public_source, same_public_model, with_model_found
from leakscope.auditing.public_settings import CROSSFIT, RETRAIN, PublicSettings
from leakscope.auditing.public_training import beside
from leakscope.auditing.running_settings import RunningSettings
from leakscope.auditing.stand_in_models import MORE_FOLDS, same_stand_ins, stand_ins_of
from leakscope.auditing.users.chosen_users import chosen_users, record_of
from leakscope.corpus.store import Corpus
from leakscope.engine.cluster.ray_engine import RayEngine
from leakscope.engine.local_engine import LocalEngine
from leakscope.engine.progress import Progress
from leakscope.engine.stages import Engine
from leakscope.engine.time_left import PlannedStage, expect
from leakscope.leakage.pipeline import Resources, audit_into
from leakscope.leakage.report_plan import ReportPlan
from leakscope.leakage.run_directory import RunDirectory, claimed_run, is_same_run
from leakscope.leakage.subject import Subject
from leakscope.models.remote.endpoint import Endpoint, RequestLimits
from leakscope.models.subword.hub import find_model
from leakscope.models.subword.loading import is_pretrained
from leakscope.models.word.model_directory import load_config
from leakscope.records.artifacts import digest_of_file
from leakscope.records.block_lists.block_list import BlockList
from leakscope.records.documents import IntArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_manifest import RunManifest


@dataclass(frozen=True)
class ReportJob:
    """What is asked, of which corpus, and how it is run; whichever model it is asked of."""

    corpus: Corpus
    settings: ReportSettings = field(default_factory=ReportSettings)
    public: PublicSettings = field(default_factory=PublicSettings)
    loading: LoadingSettings = field(default_factory=LoadingSettings)
    running: RunningSettings = field(default_factory=RunningSettings)
    block_list: Path | None = None
    chosen: Path | None = None
    """The file with the keys of the users to audit; None: all."""
    users: IntArray | None = None
    """Their numbers."""
    options: dict[str, Any] = field(default_factory=dict)
    """The options as they were given, for the manifest."""
    page: Callable[[Path], object] | None = None
    """Writes the page of a run."""

    def prepared(self) -> "ReportJob":
        """The same, checked, with models of the hub found and the block list's digest noted."""
        for text in self.running.fail_on:
            Gate.parse(text)
        if self.settings.benchmark and self.public.public is None:
            raise LeakscopeError("--benchmark is about the public model; give one by --public.")
        lowercase = self.corpus.manifest.settings.lowercase
        digest = None if self.block_list is None else _checked(self.block_list, lowercase=lowercase)
        users = None if self.chosen is None else chosen_users(self.chosen, self.corpus)
        return replace(
            self,
            settings=replace(self.settings, block_list=digest, audited=record_of(users)),
            users=users,
            public=with_model_found(self.public),
            loading=with_base_found(replace(self.loading, threads=self.running.threads_of_worker)),
        )

    def report(self, model: Path, out: Path, progress: Progress) -> None:
        """Write the run of one model into `out`."""
        path = find_model(model)
        job = self.for_model(ours=not is_pretrained(path))
        with job._engine(path) as engine, claimed_run(out) as run:
            expect(progress, job._plan(path).stages())
            job._audit(job.subject(path, self.running.name), path, run, engine, progress)

    def report_endpoint(
        self,
        endpoint: Endpoint,
        limits: RequestLimits,
        answers: Path | None,
        out: Path,
        progress: Progress,
    ) -> None:
        """Write the run of a served model into `out`. By default its answers are kept there until
        the run is finished.
        """
        check_served(
            endpoint,
            self.settings,
            public=self.public.public is not None,
            block_list=self.block_list is not None,
            workers=self.running.workers,
        )
        if self.running.engine != "local":
            raise LeakscopeError("An endpoint is asked from this machine; leave out --engine.")
        job = self.for_model(ours=False)
        with job._engine() as engine, claimed_run(out) as run:
            kept = answers or run.work / "answers"
            connection = Connection(endpoint, limits, kept, self.corpus, progress)
            subject = served_subject(endpoint, connection, self.running.name)
            try:
                subject = replace(subject, options=self.options, users=self.users)
                expect(progress, job._plan(None).stages())
                job._audit(subject, None, run, engine, progress)
            finally:
                connection.close()

    def report_snapshots(self, model: Path, out: Path, progress: Progress) -> list[Path]:
        """Write a run for every snapshot of a training, each in its folder below `out`; where they
        are. Snapshots that are done already are kept.
        """
        job = self.for_model(ours=True)
        snapshots = snapshots_in(model)
        with job._engine(model) as engine:
            due = job.due_snapshots(model, out)
            expect(progress, job._plan_of_all(due))
            for index, snapshot in enumerate(snapshots):
                progress("snapshots", index, len(snapshots), snapshot.name)
                target, begin = out / snapshot.name, f"{snapshot.name} "
                if snapshot in due:
                    subject = job.subject(snapshot, None)
                    with claimed_run(target) as run:
                        job._audit(subject, snapshot, run, engine, progress, stages=begin)
        progress("snapshots", len(snapshots), len(snapshots))
        return [out / snapshot.name for snapshot in snapshots]

    def due_snapshots(self, model: Path, out: Path) -> list[Path]:
        """The snapshots of a training whose runs are not yet finished below `out`; of a job that is
        `for_model`.
        """
        return [
            snapshot
            for snapshot in snapshots_in(model)
            if not is_same_run(
                out / snapshot.name,
                self.subject(snapshot, None),
                self.corpus,
                self.settings,
                partial(self._same_others, snapshot),
            )
        ]

    def _engine(self, *models: Path) -> AbstractContextManager[Engine]:
        """What runs the stages, for the time of a report on these models."""
        running = self.running
        if running.engine == "local":
            return nullcontext(LocalEngine(running.workers))
        listed = () if self.block_list is None else (self.block_list,)
        trains = {self.public.public, self.public.stand_ins} & {RETRAIN, CROSSFIT}
        return RayEngine(
            running.address,
            workers=running.workers,
            cores=running.cores,
            gpus=self.loading.device != "cpu",
            needs=(self.corpus.path, *models, *listed, *self.public.given),
            shares=[self.public.public_dir or beside(models[0])] if models and trains else (),
        )

    def _same_others(self, model: Path, known: RunManifest) -> bool:
        """Whether the public model and the stand-ins of a finished run are those of one now."""
        how, corpus = self._public_loading, self.corpus
        return same_public_model(
            self.public, known.public, model=model, corpus=corpus, how=how
        ) and same_stand_ins(self.public, known.stand_ins, model, corpus)

    def _plan(self, model: Path | None) -> ReportPlan:
        """For those who want to know how long it all takes."""
        public, ours = self.public, model is not None and not is_pretrained(model)
        sets = [public.folds] if public.public == CROSSFIT else []
        sets += [public.folds + MORE_FOLDS] if public.stand_ins == CROSSFIT else []
        epochs = load_config(model).training.get("epochs", 1) if ours and model is not None else 1
        return ReportPlan(
            self.corpus,
            self.settings,
            tuple(sets),
            epochs,
            judged=public.public is not None,
            stand_ins=public.stand_ins is not None,
        )

    def _plan_of_all(self, snapshots: list[Path]) -> list[PlannedStage]:
        """Models that are trained first serve all of them."""
        plans = [self._plan(snapshot) for snapshot in snapshots]
        plans[1:] = [replace(plan, fold_sets=()) for plan in plans[1:]]
        return [
            stage
            for plan, snapshot in zip(plans, snapshots, strict=True)
            for stage in plan.stages(f"{snapshot.name} ")
        ]

    def for_model(self, *, ours: bool) -> "ReportJob":
        """The same, about the documents that a model was trained on, of `ours` or of others."""
        settings = (
            of_our_model(self.settings)
            if ours
            else of_model_from_elsewhere(self.settings, self.corpus.manifest)
        )
        return replace(self, settings=settings, corpus=self.corpus.trained_on(settings.trained_on))

    @property
    def _public_loading(self) -> LoadingSettings:
        """A public model reads plain text."""
        return replace(self.loading, chat_template=None)

    def subject(self, path: Path, name: str | None) -> Subject:
        """A model of this machine, as the report needs to know it."""
        found = subject_of(path, self.corpus, self.loading, name=name, block_list=self.block_list)
        return replace(found, options=self.options, users=self.users)

    def _audit(
        self,
        subject: Subject,
        model: Path | None,
        run: RunDirectory,
        engine: Engine,
        progress: Progress,
        stages: str = "",
    ) -> None:
        """`stages`: what the names of the stages begin with."""
        how = self._public_loading
        source = public_source(self.public, model, self.corpus, how=how, progress=progress)
        gates = [Gate.parse(text) for text in self.running.fail_on]
        subject = replace(
            subject,
            stand_ins=stand_ins_of(
                self.public,
                model,
                self.corpus,
                how=how,
                block_list=self.block_list,
                progress=progress,
            ),
            verdicts=lambda metrics, manifest: tuple(
                gate.verdict(metrics, manifest) for gate in gates
            ),
        )

        def named(stage: str, done: int, total: int | None = None, note: str = "") -> None:
            progress(f"{stages}{stage}", done, total, note)

        audit_into(
            run,
            subject,
            self.corpus,
            self.settings,
            public=source,
            resources=Resources(engine, self.running.threads, self.running.trie_bytes),
            page=self.page,
            progress=named,
        )


def snapshots_in(model: Path) -> list[Path]:
    """Of a training, in their order. Raise if there are none."""
    found = sorted(config.parent for config in (model / "snapshots").glob("*/config.json"))
    if not found:
        raise LeakscopeError(f"{model} has no snapshots; train it with leakscope train.")
    return found


def _checked(block_list: Path, *, lowercase: bool) -> str:
    """The digest of a block list whose words are written as the corpus's are."""
    if BlockList.load(block_list).lowercase != lowercase:  # found now, not after scoring
        how = "lower-cased" if lowercase else "not lower-cased"
        raise LeakscopeError(
            f"The words of the corpus are {how}, those of the block list {block_list} are "
            f"otherwise; make the list from a run on this corpus."
        )
    return digest_of_file(block_list)
