"""The training data leakage report: score, collect, count, measure, write."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from leakscope.corpus.store import Corpus
from leakscope.engine.local_engine import LocalEngine
from leakscope.engine.progress import Progress, before_the_end, only_warnings, silent
from leakscope.engine.stages import Engine
from leakscope.engine.thread_engine import ThreadEngine
from leakscope.leakage.asking.asked_model import AskedModel, LoadedOnce
from leakscope.leakage.chance.held_out_runs import HeldOutRuns
from leakscope.leakage.correct_runs.corpus_scoring import CorpusScoring
from leakscope.leakage.correct_runs.score_stage import PIECE_WORDS, SLOW_PIECE_WORDS, totals_in
from leakscope.leakage.epsilon_figures import doubts_about_epsilon
from leakscope.leakage.metrics import metrics_of
from leakscope.leakage.run_directory import (
    PAGE,
    RUN_FILES,
    RunDirectory,
    claimed_run,
    manifest_of,
)
from leakscope.leakage.run_tables.table_writing import RunTables
from leakscope.leakage.scrutiny.audited_part import nobody_trained_on, notices_of_part
from leakscope.leakage.scrutiny.chance_evidence import (
    ChanceEvidence,
    HeldOutEvidence,
    StandInEvidence,
)
from leakscope.leakage.scrutiny.closer_look import look_closer
from leakscope.leakage.scrutiny.interface_figures import BEYOND
from leakscope.leakage.scrutiny.plausibility import no_probability, sample_of, warnings_about
from leakscope.leakage.scrutiny.public_stage import PublicJudge
from leakscope.leakage.scrutiny.public_surprise import PublicModel, PublicSource
from leakscope.leakage.scrutiny.validation_answers import ValidationAnswers, write_answers
from leakscope.leakage.sequences.counted import TRIE_BYTES, CountedSequences, SequenceCounting
from leakscope.leakage.subject import Subject, behind
from leakscope.models.evaluation import perplexity_of
from leakscope.records.artifacts import seal_files, write_json, write_sealed
from leakscope.records.documents import IntArray
from leakscope.records.measured import Measured
from leakscope.records.models.model_config import ModelConfig
from leakscope.records.models.model_figures import ModelFigures
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_manifest import RunManifest
from leakscope.records.runs.run_metrics import Metrics


@dataclass(frozen=True)
class Resources:
    """What a report may use of the machine."""

    engine: Engine = field(default_factory=LocalEngine)
    """Runs the stages."""
    threads: int = 1
    """Threads that count, where stages run in this process."""
    trie_bytes: int = TRIE_BYTES
    """What a trie of sequences and its counts may take in a worker."""

    @property
    def compiled(self) -> Engine:
        """Runs the stages whose work is compiled and loads no model."""
        alone = isinstance(self.engine, LocalEngine) and self.engine.workers <= 1
        return ThreadEngine(self.threads) if alone else self.engine

    def counting(self, scoring: CorpusScoring) -> SequenceCounting:
        """Collects and counts what was scored."""
        return SequenceCounting(
            scoring.corpus, scoring.work, self.compiled, scoring.progress, self.trie_bytes
        )


def audit(
    subject: Subject,
    corpus: Corpus,
    out: Path,
    settings: ReportSettings,
    *,
    public: PublicSource | None = None,
    resources: Resources | None = None,
    page: Callable[[Path], object] | None = None,
    progress: Progress = silent,
) -> Metrics:
    """Write the run directory `out`, its page by `page`. The same call resumes a killed run."""
    with claimed_run(out) as run:
        return audit_into(
            run,
            subject,
            corpus,
            settings,
            public=public,
            resources=resources,
            page=page,
            progress=progress,
        )


def audit_into(
    run: RunDirectory,
    subject: Subject,
    corpus: Corpus,
    settings: ReportSettings,
    *,
    public: PublicSource | None = None,
    resources: Resources | None = None,
    page: Callable[[Path], object] | None = None,
    progress: Progress = silent,
) -> Metrics:
    """`audit` in a directory that the caller has claimed."""
    resources, out = resources or Resources(), run.path
    corpus = corpus.trained_on(settings.trained_on)
    scoring = CorpusScoring(corpus, run.work, resources.engine, progress, subject.users)
    load = subject.interface(settings.confidence)
    words = piece_words(subject)
    parts = scoring.score(subject.identity, load, settings, words)
    if not parts and subject.users is not None:
        raise nobody_trained_on()
    counting = resources.counting(scoring)
    counted, sizes = counting.count(parts)
    part = None if subject.users is None else sizes.of(subject.users)
    asked = corpus.counts().words if part is None else part.words
    runs = HeldOutRuns(scoring, subject.identity, load, words, resources.compiled)
    evidence, owners = _evidence(runs, subject, settings, counted, asked, counting)
    judge = _judge(None if public is None else public(owners), scoring)
    model, measure = _asked(subject, scoring, settings), not subject.measured
    look = look_closer(model, judge, corpus, settings, counted, evidence, measure=measure)
    figures = subject.figures.updated(look.figures)
    figures = figures.updated(_on_every_word(parts, asked, settings))
    figures = figures.updated(_benchmark(judge, scoring, settings, counting))
    near_ties = sum(totals_in(part).near_ties for part in parts)
    metrics = metrics_of(counted, corpus, settings, figures, near_ties, look.findings)
    metrics = metrics.model_copy(update={"audited": part, "interface": settings.interface})
    notices = (*look.notices, *doubts_about_epsilon(metrics, counted, look.findings))
    metrics = _questioned(metrics, subject, scoring, settings, notices)
    subject.confirm()
    tables = RunTables(corpus, settings, parts, counted, look.findings, sizes, subject.users)
    tables.write(out, run.work, resources.threads, before_the_end(progress))
    _write_answers(out, look.answers, settings)
    manifest = manifest_of(subject, corpus, settings, None if judge is None else judge.record)
    metrics = _write_records(out, subject, manifest, metrics)
    if page is not None:
        page(out)  # which reads all the others
        seal_files(out, [PAGE] if (out / PAGE).exists() else [])
    progress("write", 1, 1)
    return metrics


def piece_words(subject: Subject) -> int:
    """Words that are scored at a time, and kept as one piece."""
    return SLOW_PIECE_WORDS if subject.reads_text else PIECE_WORDS


def _write_records(out: Path, subject: Subject, manifest: RunManifest, metrics: Metrics) -> Metrics:
    """Write metrics and manifest with what gates say of them, and seal them with the tables."""
    said = {"gates": subject.verdicts(metrics, manifest)}
    metrics, manifest = metrics.model_copy(update=said), manifest.model_copy(update=said)
    write_json(out / "metrics.json", metrics)
    made = [name for name in RUN_FILES if name.endswith(".parquet") and (out / name).exists()]
    write_sealed(out / "manifest.json", manifest, ["metrics.json", *made])
    return metrics


def _write_answers(out: Path, answers: ValidationAnswers | None, settings: ReportSettings) -> None:
    """Write what is known of validation words, if anything is."""
    if answers is None:
        return
    write_answers(out / "validation.parquet", answers)
    if answers.documents is not None and not settings.hardened:
        answers.documents.write(out)


def _evidence(
    runs: HeldOutRuns,
    subject: Subject,
    settings: ReportSettings,
    counted: CountedSequences,
    words: int,
    counting: SequenceCounting,
) -> tuple[ChanceEvidence, IntArray]:
    """What chance is judged by, for S, `counted`, from so many words of D; and the users whom a
    public model has to judge.
    """
    stand_ins, owners = subject.stand_ins, counted.owners()
    if stand_ins is None:
        return HeldOutEvidence(runs.decoys(settings, counted, words)), owners
    theirs = partial(behind, stand_ins.load, settings.confidence)
    shown = stand_ins.shown(
        runs.scoring,
        theirs,
        settings,
        runs.piece,
        replace(counting, progress=only_warnings(counting.progress)),
    )
    return StandInEvidence(shown, words, stand_ins.record.folds), np.union1d(owners, shown.owners())


def _judge(model: PublicModel | None, scoring: CorpusScoring) -> PublicJudge | None:
    """The public model, asked by the engine that scores."""
    if model is None:
        return None
    return PublicJudge.of(model, scoring.corpus, scoring.work, scoring.engine, scoring.progress)


def _asked(subject: Subject, scoring: CorpusScoring, settings: ReportSettings) -> AskedModel:
    """The model under audit, asked by the engine that scores."""
    identity = {
        "model": subject.identity.digest,
        "lexicon": scoring.corpus.manifest.lexicon_digest,
        "confidence": settings.confidence,
        "block_list": settings.block_list,
    }
    load = LoadedOnce(subject.interface(settings.confidence))
    return AskedModel(
        load, identity, subject.reads_text, scoring.engine, scoring.work, scoring.progress
    )


def _questioned(
    metrics: Metrics,
    subject: Subject,
    scoring: CorpusScoring,
    settings: ReportSettings,
    notices: tuple[str, ...],
) -> Metrics:
    """The metrics with their warnings and notices; raises if nothing was measured."""
    corpus = scoring.corpus
    known, config = corpus.manifest.lexicon, subject.config
    vocabulary = min(known, config.vocabulary) if isinstance(config, ModelConfig) else known
    told = warnings_about(
        metrics,
        settings,
        vocabulary,
        lambda: sample_of(
            _asked(subject, scoring, replace(settings, confidence=None)), corpus, settings.top_k
        ),
    )
    notices = (*notices_of_part(metrics, settings), *notices)
    return metrics.model_copy(update={"warnings": told, "notices": notices})


def _on_every_word(parts: list[Path], words: int, settings: ReportSettings) -> ModelFigures:
    """The training perplexity, if every one of the `words` that were scored was asked for."""
    if not settings.full_perplexity:
        return ModelFigures()
    mean = math.fsum(totals_in(part).log_prob for part in parts) / words
    if np.isnan(mean):
        raise no_probability()
    exact: Measured[float] = Measured.absent("the training perplexity was measured on every word")
    return ModelFigures(Measured.of(perplexity_of(-mean), BEYOND), exact, exact)


def _benchmark(
    judge: PublicJudge | None,
    scoring: CorpusScoring,
    settings: ReportSettings,
    counting: SequenceCounting,
) -> ModelFigures:
    """What the public model itself gives away, by metric 1, if that was asked for."""
    if not settings.benchmark or judge is None:
        return ModelFigures()
    if not judge.record.digests:
        why = "without unique sequences no model was retrained"
        return ModelFigures(public_unique_sequences=Measured.absent(why))
    scoring.progress("benchmark", 0, 1)
    asked = ReportSettings(top_k=settings.top_k)
    parts = scoring.score(judge.identity, judge.load, asked, SLOW_PIECE_WORDS)
    going = only_warnings(scoring.progress)
    theirs, _ = replace(counting, progress=going).count(parts)
    scoring.progress("benchmark", 1, 1)
    return ModelFigures(public_unique_sequences=Measured(int(theirs.sequences.unique.sum())))
