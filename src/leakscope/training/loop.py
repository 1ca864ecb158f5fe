"""`train`: the training loop, with snapshots, history and resume."""

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakscope.corpus.split import VALIDATION
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.models.evaluation import evaluate
from leakscope.models.word.model_directory import load_config, save_model, words_of
from leakscope.records.artifacts import (
    already,
    digest_of,
    digest_of_file,
    fresh_directory,
    private_directory,
)
from leakscope.records.documents import IntArray
from leakscope.records.dp_record import PrivacyRecord
from leakscope.records.errors import LeakscopeError
from leakscope.records.model import ModelConfig, users_digest
from leakscope.training.checkpoint import (
    Checkpoint,
    find_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from leakscope.training.dp.ledger import NAME as LEDGER
from leakscope.training.history import comes_from, describe, sample_of, write_history
from leakscope.training.identity import Identity
from leakscope.training.mitigations.plain import PlainSteps, Steps
from leakscope.training.steps.plain_step import make_optimizer
from leakscope.training.train_settings import TrainSettings
from leakscope.training.training_setup import Material, Start

if TYPE_CHECKING:
    from leakscope.training.mitigations.dp import PrivateSteps

TOP_K = (1, 3, 5)

Clock = Callable[[], float]


@dataclass(frozen=True)
class Trained:
    """A finished training."""

    path: Path
    history: list[dict[str, Any]]
    missed: tuple[str, ...] = ()
    """Why snapshots that were asked for are not there, a sentence each."""


def train(
    corpus: Corpus,
    out: Path,
    settings: TrainSettings,
    *,
    warm_start: Path | None = None,
    without_users: IntArray | None = None,
    vocabulary_from: Path | None = None,
    progress: Progress = silent,
    clock: Clock = time.perf_counter,
) -> Trained:
    """Train a word-level model on the corpus's training documents into the directory `out`,
    leaving out those of some users. The vocabulary is the whole corpus's all the same, or that of
    another model.

    An interrupted training is resumed by the same call, to the same weights bit for bit; a private
    one to weights as private as what it has spent.
    """
    started_from = None
    if warm_start is not None:
        load_config(warm_start)  # says so if it is no model
        started_from = digest_of_file(warm_start / "model.safetensors")
    parts = (
        {
            "settings": settings.record(),
            "corpus": corpus.manifest.digest,
            "from": started_from,
            "lexicon": corpus.manifest.lexicon_digest,
        }
        | ({} if without_users is None else {"without": users_digest(without_users)})
        | ({} if vocabulary_from is None else {"vocabulary": digest_of(words_of(vocabulary_from))})
    )
    identity = Identity(digest_of(parts), parts | {"settings": settings.shareable()})
    if settings.privacy is not None and warm_start is not None and comes_from(warm_start, corpus):
        raise LeakscopeError(
            f"The model in {warm_start} was trained on this very text, so that no training from it "
            f"is private; start from one that never saw it."
        )
    state = _claim(out, identity)
    start = Start(warm_start, started_from, without_users, vocabulary_from)
    run = _TrainingRun(corpus, out, settings, identity, start, progress, clock)
    if state is not None:
        progress("resume", state.total_steps, None, f"at step {state.total_steps}")
        run.resume(state)
    try:
        run.finish()
    finally:
        if run.private is not None:
            run.private.close()
    return Trained(out, run.history, run.missed)


class _TrainingRun:
    """A training on its way."""

    def __init__(
        self,
        corpus: Corpus,
        out: Path,
        settings: TrainSettings,
        identity: Identity,
        start: Start,
        progress: Progress,
        clock: Clock,
    ) -> None:
        self.corpus, self.out, self.settings = corpus, out, settings
        self.identity, self.start = identity, start
        self.progress, self.clock = progress, clock
        self.material = material = Material(corpus, settings, start)
        self.model, network = material.model, material.model.network
        self.sample = sample_of(material.documents, settings.seed)
        self.optimizer = make_optimizer(network, settings)
        self.private: PrivateSteps | None = None
        self.steps: Steps = PlainSteps(
            network, self.optimizer, material.text, settings, material.generator
        )
        if settings.privacy is not None:
            self.steps = self.private = _private_steps(
                network,
                self.optimizer,
                material.text,
                material.documents,
                settings,
                settings.privacy,
            )
        self.epoch = self.step = self.total_steps = self.words = 0
        self.loss = self.seconds = 0.0
        self.history: list[dict[str, Any]] = []
        self.missed: tuple[str, ...] = ()

    def resume(self, state: Checkpoint) -> None:
        """Take up where a checkpoint stands."""
        load_checkpoint(self.out, state, self.model.network, self.optimizer)
        self.epoch, self.step, self.total_steps = state.epoch, state.step, state.total_steps
        self.loss, self.words, self.seconds = state.loss, state.words, state.seconds
        self.history = list(state.history)

    def finish(self) -> None:
        """Run the remaining steps and write the model."""
        if self.private is not None:
            without = self.material.without
            left_out = "" if without is None else without.digest
            text = digest_of([self.corpus.manifest.digest, left_out])
            self.private.open(self.out, text, self.total_steps)
            self.missed = tuple(
                why for name, why in self.private.missed.items() if not self._has(name)
            )
            for why in self.missed:
                self.progress("plan", self.total_steps, self.steps.total, why)
        if self.total_steps:  # a kill may have come before what was due at the checkpoint
            self._keep([name for name in self._due() if not self._has(name)])
        while self.total_steps < self.steps.total:
            self._step()
            self._report()
            self._keep(self._due())
        self._measure()
        save_model(self.out, self.model, self._config())
        write_history(self.out, self.history)
        (self.out / "checkpoint.json").unlink(missing_ok=True)
        shutil.rmtree(self.out / "checkpoints", ignore_errors=True)

    def _due(self) -> Sequence[str]:
        """The names of the snapshots that are due after the step taken last."""
        every = self.settings.snapshot_steps
        if self.private is not None and self.private.plan.snapshot_at_epsilon:
            return self.private.snapshots_after(self.total_steps)
        if every is None:
            last = self.step == self.steps.per_epoch
            return (f"epoch-{self.epoch + 1:03d}",) if last else ()
        return () if self.total_steps % every else (f"step-{self.total_steps:07d}",)

    def _keep(self, snapshots: Sequence[str]) -> None:
        """Write these snapshots of the step taken last, and the checkpoints that are due, and go
        over to the next epoch after the last step of one.
        """
        last = self.step == self.steps.per_epoch
        if snapshots:
            self._snapshot(snapshots)
        elif self._is_checkpoint() and not last:
            self._checkpoint()
        if last:
            self.epoch, self.step, self.loss, self.words = self.epoch + 1, 0, 0.0, 0
            self._checkpoint()

    def _is_checkpoint(self) -> bool:
        """Whether a checkpoint is due. One is before a step with a snapshot at an epsilon: should a
        crash lose that step, which is spent then, there is something to make the snapshot of.
        """
        if self.private is not None and self.private.snapshots_after(self.total_steps + 1):
            return True
        return self.total_steps % self.settings.checkpoint_steps == 0

    def _step(self) -> None:
        begin = self.clock()
        taken = self.steps.take(self.total_steps)
        self.loss += taken.loss
        self.words += taken.words
        self.step += 1
        self.total_steps += 1
        self.seconds += self.clock() - begin

    def _report(self) -> None:
        note = f"epoch {self.epoch + 1}"
        if self.private is None:  # the loss of private text is measured without noise
            note += f", loss {self.loss / self.words:.3f}"
        self.progress("train", self.total_steps, self.steps.total, note)

    def _measure(self) -> None:
        """Append a line to the history: validation figures, and the training text's on a sample.
        One that is there already serves, unless a crash has spent more since.
        """
        spent = None if self.private is None else self._privacy(self.private).epsilon
        last = self.history[-1] if self.history else {}
        if last.get("step") == self.total_steps and last.get("epsilon") == spent:
            return
        validation = evaluate(self.model, self.corpus.documents(VALIDATION), TOP_K)
        line: dict[str, Any] = {
            "epoch": self.epoch + self.step / self.steps.per_epoch,
            "step": self.total_steps,
            **self._of_training(),
            "validation_perplexity": validation.perplexity,
            **{f"validation_top{k}": validation.accuracy.get(k) for k in TOP_K},
            "seconds": self.seconds,
        }
        if self.private is not None:
            line["epsilon"] = spent
        self.history.append(line)
        self.progress("snapshot", self.total_steps, None, describe(line, validation))

    def _of_training(self) -> dict[str, float | None]:
        """Figures of the training text. A private training has none: they would be measured
        without noise, and the model's config would give them away.
        """
        names = ("train_loss", "train_perplexity", "train_perplexity_low", "train_perplexity_high")
        if self.private is not None:
            return dict.fromkeys(names)
        found = evaluate(self.model, [self.sample], TOP_K)
        loss = self.loss / self.words if self.words else None
        return dict(zip(names, (loss, found.perplexity, found.low, found.high), strict=True))

    def _privacy(self, private: "PrivateSteps") -> PrivacyRecord:
        return private.record(
            self.total_steps,
            warm_started=self.start.warm_start is not None,
            public_vocabulary=self.material.public_vocabulary,
            vocabulary_users=self.settings.vocabulary_users,
        )

    def _snapshot(self, names: Sequence[str]) -> None:
        """Write the snapshots of one step. The checkpoint comes first: killed before the snapshots
        are there, a training finds them due when it is resumed.
        """
        self._measure()
        self._checkpoint()
        for name in names:
            save_model(private_directory(self.out / "snapshots") / name, self.model, self._config())
        write_history(self.out, self.history)

    def _has(self, snapshot: str) -> bool:
        return (self.out / "snapshots" / snapshot / "config.json").exists()

    def _checkpoint(self) -> None:
        state = Checkpoint(
            settings_digest=self.identity.digest,
            made_with=self.identity.shareable,
            folder=f"{self.epoch:05d}-{self.total_steps:09d}",
            epoch=self.epoch,
            step=self.step,
            total_steps=self.total_steps,
            loss=self.loss,
            words=self.words,
            seconds=self.seconds,
            history=self.history,
        )
        save_checkpoint(self.out, state, self.model.network, self.optimizer)

    def _config(self) -> ModelConfig:
        privacy = None if self.private is None else self._privacy(self.private)
        return self.material.config(self.history[-1] if self.history else {}, privacy)


def _private_steps(*given: Any) -> "PrivateSteps":
    """`PrivateSteps`, with the accountant that they bring along."""
    if find_spec("dp_accounting") is None:
        raise LeakscopeError("Private training needs dp-accounting: pip install 'leakscope[dp]'.")
    from leakscope.training.mitigations.dp import PrivateSteps  # noqa: PLC0415

    return PrivateSteps(*given)


def _claim(out: Path, identity: Identity) -> Checkpoint | None:
    """Take `out` for a training: fresh, or an unfinished one with the same settings."""
    state = find_checkpoint(out, identity)
    if state is None and (out / "config.json").exists():
        raise already(out)
    if state is None:
        # Killed before its first checkpoint, a training leaves at most these behind. What a
        # private one has spent stays spent.
        leftovers = ("checkpoints", "snapshots", "history.parquet")
        fresh_directory(out, leftovers, keep=(LEDGER,))
    return state
