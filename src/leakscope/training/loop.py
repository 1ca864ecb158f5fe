"""`train`: a training from its beginning, or from where it was killed, to its end."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.engine.time_left import PlannedStage, expect
from leakscope.models.word.model_directory import load_config, weights_digest, words_of
from leakscope.records.artifacts import digest_of
from leakscope.records.documents import IntArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.earlier_config import digested_training
from leakscope.records.models.model_config import users_digest
from leakscope.records.output_claim import MARKER, check_claimable, claimed
from leakscope.training.checkpoint import find_checkpoint
from leakscope.training.distributed.crew import crew_of
from leakscope.training.finished_training import COMMAND, history_of, is_result_of, tidied
from leakscope.training.followed_training import FollowedTraining, check_workers
from leakscope.training.history import HISTORY_FILES
from leakscope.training.identity import Identity
from leakscope.training.mitigations.registry import kept_files
from leakscope.training.text_origin import comes_from
from leakscope.training.train_settings import TrainSettings
from leakscope.training.training_run import Clock, TrainingRun
from leakscope.training.training_setup import StartingPoint, TrainingSetup


@dataclass(frozen=True)
class Trained:
    """A finished training."""

    path: Path
    history: list[dict[str, Any]]
    missed: tuple[str, ...] = ()
    """What was asked for and is not there, and why, a sentence each."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """How a training is run; nothing of it decides the weights, but for rounding."""

    workers: int = 1
    """Processes on this machine that share every step."""
    clock: Clock = time.perf_counter


def train(
    corpus: Corpus,
    out: Path,
    settings: TrainSettings,
    *,
    warm_start: Path | None = None,
    without_users: IntArray | None = None,
    vocabulary_from: Path | None = None,
    progress: Progress = silent,
    running: Running | None = None,
) -> Trained:
    """Train a word-level model on the corpus's training documents into the directory `out`,
    leaving out those of some users. The vocabulary is the whole corpus's all the same, or that of
    another model.

    An interrupted training is resumed by the same call, to the same weights bit for bit; one whose
    randomness is secret, to weights as private as what it has spent. With another number of workers
    the weights are the same but for rounding.
    """
    running = running or Running()
    check_workers(settings, running.workers)
    start = starting_point(warm_start, without_users, vocabulary_from)
    identity = _identity(corpus, settings, start)
    forbidden = settings.mitigation.forbids_seen_start
    if forbidden is not None and warm_start is not None and comes_from(warm_start, corpus):
        raise LeakscopeError(
            f"The model in {warm_start} was trained on this very text, so that {forbidden}; start "
            f"from one that never saw it."
        )
    if settings.until_perplexity is not None and not corpus.manifest.validation.words:
        raise LeakscopeError(
            "Without validation documents no perplexity tells when to stop; leave out "
            "--until-perplexity, or build the corpus with some."
        )
    if _has_finished(corpus, out, settings, start) and tidied(out):
        return Trained(out, history_of(out))
    # A checkpoint that reads as ours is a training's, also without the mark of newer versions.
    known = find_checkpoint(out, identity) is not None
    with claimed(out, COMMAND, keep=kept_files(), recognised=known) as claim:
        state = find_checkpoint(out, identity)
        if state is None:
            # Killed before its first checkpoint, a training leaves at most these behind. What a
            # mitigation has written for good stays.
            claim.clear(("checkpoints", "snapshots", *HISTORY_FILES))
        task = FollowedTraining(corpus.path, settings, start, out, state)
        with crew_of(task, running.workers) as crew:
            setup = TrainingSetup(corpus, settings, start, crew.ranks, out)
            run = TrainingRun(setup, out, identity, crew, progress, running.clock)
            if state is not None:
                claim.sweep(path for path in out.glob("snapshots/*") if path.is_dir())
                progress("resume", state.total_steps, None, f"at step {state.total_steps}")
                run.resume(state)
            expect(progress, [PlannedStage("train", 1.0)])
            run.finish()
    return Trained(out, run.history, run.missed)


def starting_point(
    warm_start: Path | None, without_users: IntArray | None, vocabulary_from: Path | None
) -> StartingPoint:
    """What a training starts from. Raise if `warm_start` is no model."""
    started_from = None
    if warm_start is not None:
        load_config(warm_start)
        started_from = weights_digest(warm_start)
    return StartingPoint(warm_start, started_from, without_users, vocabulary_from)


def kept_steps(corpus: Corpus, out: Path, settings: TrainSettings, start: StartingPoint) -> int:
    """How many steps of just this training the checkpoint in `out` has. Raise if `out` holds
    something else; nothing is written.
    """
    state = find_checkpoint(out, _identity(corpus, settings, start))
    if state is None and not _has_finished(corpus, out, settings, start):
        check_claimable(out, COMMAND, kept_files())
    return 0 if state is None else state.total_steps


def _has_finished(corpus: Corpus, out: Path, settings: TrainSettings, start: StartingPoint) -> bool:
    """Whether just this training was killed in `out` when all was made."""
    return (out / MARKER).exists() and is_result_of(out, corpus, settings, start)


def _identity(corpus: Corpus, settings: TrainSettings, start: StartingPoint) -> Identity:
    """What the training must be resumed with."""
    inputs: dict[str, Any] = {
        "corpus": corpus.manifest.digest,
        "from": start.weights,
        "lexicon": corpus.manifest.lexicon_digest,
    }
    if start.without_users is not None:
        inputs["without"] = users_digest(start.without_users)
    if start.vocabulary_from is not None:
        inputs["vocabulary"] = digest_of(words_of(start.vocabulary_from))
    digest = digest_of({"settings": digested_training(settings.record()), **inputs})
    return Identity(digest, {"settings": settings.shareable(), **inputs})
