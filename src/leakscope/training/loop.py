"""`train`: the training loop, with snapshots, history and resume."""

import platform
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from leakscope.corpus.lexicon import words_digest
from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.models.evaluate import Evaluation, evaluate
from leakscope.models.networks import make_network
from leakscope.models.storage import (
    ModelConfig,
    Without,
    ancestry_of,
    architecture_record,
    save_model,
    users_digest,
)
from leakscope.models.wordlevel import WordModel
from leakscope.records.artifacts import (
    already,
    digest_of,
    digest_of_file,
    fresh_directory,
    private_directory,
    write_parquet,
)
from leakscope.records.documents import Documents, IntArray
from leakscope.records.errors import LeakscopeError
from leakscope.training.batches import Batch, TrainingText, epoch_order
from leakscope.training.checkpoint import (
    Checkpoint,
    find_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from leakscope.training.settings import TrainSettings
from leakscope.training.step import make_optimizer, take_step
from leakscope.training.warm import copy_known

TOP_K = (1, 3, 5)
SAMPLE_WORDS = 50_000  # of the training text, to measure its perplexity after each snapshot

Clock = Callable[[], float]


@dataclass(frozen=True)
class Trained:
    """A finished training."""

    path: Path
    history: list[dict[str, Any]]


def train(
    corpus: Corpus,
    out: Path,
    settings: TrainSettings,
    *,
    warm_start: Path | None = None,
    without_users: IntArray | None = None,
    progress: Progress = silent,
    clock: Clock = time.perf_counter,
) -> Trained:
    """Train a word-level model on the corpus's training documents into the directory `out`,
    leaving out those of some users. The vocabulary is the whole corpus's all the same.

    An interrupted training is resumed by the same call, to the same weights bit for bit.
    """
    started_from = None if warm_start is None else digest_of_file(warm_start / "model.safetensors")
    identity = digest_of(
        {
            "settings": asdict(settings),
            "corpus": corpus.manifest.digest,
            "from": started_from,
            "lexicon": corpus.manifest.lexicon_digest,
        }
        | ({} if without_users is None else {"without": users_digest(without_users)})
    )
    state = _claim(out, identity)
    run = _Run(
        corpus, out, settings, identity, started_from, warm_start, without_users, progress, clock
    )
    if state is not None:
        progress("resume", state.total_steps, None, f"at step {state.total_steps}")
        run.resume(state)
    run.finish()
    return Trained(out, run.history)


class _Run:
    """A training on its way."""

    def __init__(
        self,
        corpus: Corpus,
        out: Path,
        settings: TrainSettings,
        identity: str,
        started_from: str | None,
        warm_start: Path | None,
        without_users: IntArray | None,
        progress: Progress,
        clock: Clock,
    ) -> None:
        self.corpus, self.out, self.settings = corpus, out, settings
        self.identity, self.started_from = identity, started_from
        self.ancestry = [] if warm_start is None else ancestry_of(warm_start)
        self.progress, self.clock = progress, clock
        # Words that only validation documents have cannot be learned and stay unknown.
        trained = int(np.count_nonzero(corpus.lexicon.counts[: settings.vocabulary]))
        vocabulary = list(corpus.lexicon.words[:trained])
        self.generator = torch.Generator().manual_seed(settings.seed)
        network = make_network(settings.architecture, len(vocabulary) + 2, self.generator)
        if warm_start is not None:
            copy_known(warm_start, network, vocabulary)
        self.model = WordModel(network, vocabulary).reading(corpus.lexicon)
        documents = corpus.load(TRAIN)
        self.without = None
        if without_users is not None:
            self.without = Without(
                users=len(np.unique(without_users)), digest=users_digest(without_users)
            )
            documents = documents.take(np.flatnonzero(~np.isin(documents.users, without_users)))
        if not len(documents):
            raise LeakscopeError("No document is left to train on without these users.")
        self.sample = _sample(documents, settings.seed)
        self.text = TrainingText(
            self.model.entries(documents), documents.offsets, self.model.mark, settings.max_words
        )
        self.optimizer = make_optimizer(network, settings)
        self.epoch = self.step = self.total_steps = self.words = 0
        self.loss = self.seconds = 0.0
        self.history: list[dict[str, Any]] = []

    def resume(self, state: Checkpoint) -> None:
        """Take up where a checkpoint stands."""
        load_checkpoint(self.out, state, self.model.network, self.optimizer)
        self.epoch, self.step, self.total_steps = state.epoch, state.step, state.total_steps
        self.loss, self.words, self.seconds = state.loss, state.words, state.seconds
        self.history = list(state.history)

    def finish(self) -> None:
        """Run the remaining epochs and write the model."""
        settings = self.settings
        steps = self.text.steps(settings.batch_size)
        every = settings.snapshot_steps
        while self.epoch < settings.epochs:
            order = epoch_order(
                self.text, settings.batch_size, settings.seed, self.epoch, self.step
            )
            for pieces in order:
                self._step(self.text.batch(pieces))
                self._report(steps)
                last = self.step == steps
                due = last if every is None else self.total_steps % every == 0
                if due:
                    self._snapshot()
                elif self.total_steps % settings.checkpoint_steps == 0 and not last:
                    self._checkpoint()
            self.epoch, self.step, self.loss, self.words = self.epoch + 1, 0, 0.0, 0
            self._checkpoint()
        if not self.history or self.history[-1]["step"] != self.total_steps:
            self._measure()
        save_model(self.out, self.model, self._config())
        _write_history(self.out, self.history)
        (self.out / "checkpoint.json").unlink()
        shutil.rmtree(self.out / "checkpoints")

    def _step(self, batch: Batch) -> None:
        begin = self.clock()
        # Dropout is a function of the seed and the step, so nothing of it needs to be saved.
        self.generator.manual_seed(self.settings.seed * 1_000_003 + self.total_steps)
        value = take_step(
            self.model.network, self.optimizer, batch, self.generator, self.settings.clip
        )
        if not np.isfinite(value):
            raise LeakscopeError(
                f"The loss became {value} at step {self.total_steps + 1}; lower --learning-rate."
            )
        self.loss += value * len(batch.labels)
        self.words += len(batch.labels)
        self.step += 1
        self.total_steps += 1
        self.seconds += self.clock() - begin

    def _report(self, steps: int) -> None:
        total = steps * self.settings.epochs
        note = f"epoch {self.epoch + 1}, loss {self.loss / self.words:.3f}"
        self.progress("train", self.total_steps, total, note)

    def _measure(self) -> None:
        """Append a line to the history: validation figures, and the training text's on a sample."""
        validation = evaluate(self.model, self.corpus.documents(VALIDATION), TOP_K)
        training = evaluate(self.model, [self.sample], TOP_K)
        fraction = self.step / self.text.steps(self.settings.batch_size)
        line = {
            "epoch": self.epoch + fraction,
            "step": self.total_steps,
            "train_loss": self.loss / self.words if self.words else None,
            "train_perplexity": training.perplexity,
            "train_perplexity_low": training.low,
            "train_perplexity_high": training.high,
            "validation_perplexity": validation.perplexity,
            **{f"validation_top{k}": validation.accuracy.get(k) for k in TOP_K},
            "seconds": self.seconds,
        }
        self.history.append(line)
        self.progress("snapshot", self.total_steps, None, _describe(line, validation))

    def _snapshot(self) -> None:
        self._measure()
        name = (
            f"epoch-{self.epoch + 1:03d}"
            if self.settings.snapshot_steps is None
            else f"step-{self.total_steps:07d}"
        )
        save_model(private_directory(self.out / "snapshots") / name, self.model, self._config())
        _write_history(self.out, self.history)
        self._checkpoint()

    def _checkpoint(self) -> None:
        state = Checkpoint(
            settings_digest=self.identity,
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
        architecture = architecture_record(self.settings.architecture)
        return ModelConfig(
            architecture=architecture,
            vocabulary=len(self.model.vocabulary),
            vocabulary_digest=words_digest(self.model.vocabulary),
            lexicon_digest=self.corpus.manifest.lexicon_digest,
            corpus_digest=self.corpus.manifest.digest,
            lowercase=bool(self.corpus.manifest.settings["lowercase"]),
            parameters=sum(weight.numel() for weight in self.model.network.parameters()),
            training=asdict(self.settings),
            progress=self.history[-1] if self.history else {},
            initialized_from=self.started_from,
            without_users=self.without,
            ancestry=self.ancestry,
            corpus_inputs=[given.digest for given in self.corpus.manifest.inputs],
            versions={
                "leakscope": version("leakscope"),
                "torch": torch.__version__,
                "python": platform.python_version(),
            },
        )


def _claim(out: Path, identity: str) -> Checkpoint | None:
    """Take `out` for a training: fresh, or an unfinished one with the same settings."""
    state = find_checkpoint(out, identity)
    if state is None and (out / "config.json").exists():
        raise already(out)
    if state is None:
        # Killed before its first checkpoint, a training leaves at most these behind.
        fresh_directory(out, ("checkpoints", "snapshots", "history.parquet"))
    return state


def _sample(documents: Documents, seed: int) -> Documents:
    """Documents drawn at random until they have about SAMPLE_WORDS words."""
    order = np.random.default_rng([seed, 7]).permutation(len(documents))
    enough = int(np.searchsorted(np.cumsum(documents.lengths()[order]), SAMPLE_WORDS)) + 1
    chosen = np.sort(order[:enough])
    return Documents.of([(int(documents.users[i]), documents.words_of(i).tolist()) for i in chosen])


def _describe(line: dict[str, Any], validation: Evaluation) -> str:
    if validation.perplexity is None:
        why = "the loss is beyond any number" if validation.words else "no validation documents"
        return f"epoch {line['epoch']:.2f}: {why}"
    return (
        f"epoch {line['epoch']:.2f}: validation perplexity {validation.perplexity:.2f}, "
        f"top-1 accuracy {100 * validation.accuracy[1]:.2f}%"
    )


def _write_history(out: Path, history: list[dict[str, Any]]) -> None:
    integer = {"step": pa.int64()}
    schema = pa.schema([(name, integer.get(name, pa.float64())) for name in history[0]])
    write_parquet(out / "history.parquet", pa.Table.from_pylist(history, schema))
