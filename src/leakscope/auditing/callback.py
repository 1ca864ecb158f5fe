"""Reports while a Hugging Face model is being trained: a `TrainerCallback`, and the same as a
plain function for a loop of one's own. Only aggregates are ever logged, no training text.
"""

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from transformers import TrainerCallback

from leakscope.auditing.gating.gates import DP_EPSILON, Gate
from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_loading import CAUSAL_PACKAGES
from leakscope.auditing.provenance import of_model_from_elsewhere
from leakscope.auditing.public_models import public_source
from leakscope.auditing.public_settings import PublicSettings
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.leakage.pipeline import Resources, audit
from leakscope.leakage.subject import Subject
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.models.subword.causal_model import causal_model
from leakscope.models.subword.soundness import check_tokenizer
from leakscope.records.artifacts import digest_of
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.audited_model import (
    CallersNetworkRecord,
    NetworkShape,
    TrainingProgress,
)
from leakscope.records.output_claim import locked
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_manifest import open_run
from leakscope.records.runs.run_metrics import Metrics
from leakscope.reporting.comparison.compare_page import refuse_foreign, write_comparison
from leakscope.reporting.comparison.compared_runs import load_runs
from leakscope.reporting.pages.report_page import write_page

Record = TypeVar("Record")

LOGGED = (
    "unique_sequences", "unique_not_copied", "users_with_unique", "longest_unique", "occurrences",
    "sequences", "leakage_epsilon", "unique_with_pii", "unique_without_context",
)  # fmt: skip
"""The numbers that are logged, those that were measured."""


def report_on(
    network: Any,
    tokenizer: Any,
    corpus: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    name: str = "model",
    step: int | None = None,
    epoch: float | None = None,
    progress: Progress = silent,
) -> Metrics:
    """The report of a causal network as it is now, into the run directory `out`. It is put into
    evaluation mode for that time, and back. `settings`: `ReportSettings`, `PublicSettings`,
    `LoadingSettings`, none or any of them. Unless the corpus says what the network is trained on,
    `ReportSettings(trained_on=...)` must.
    """
    opened, target = Corpus.open(Path(corpus)), Path(out)
    asked = of_model_from_elsewhere(_of(ReportSettings, settings), opened.manifest)
    how = replace(_of(LoadingSettings, settings), threads=torch.get_num_threads())
    public = _of(PublicSettings, settings)
    training = bool(network.training)
    try:
        model = causal_model(network, tokenizer, batch_tokens=how.most_tokens)
        kind = str(getattr(network.config, "model_type", "causal"))
        subject = Subject(
            name=name,
            digest=weights_digest(network),
            config=CallersNetworkRecord(
                architecture=NetworkShape(kind=kind),
                progress=TrainingProgress(step=step, epoch=epoch),
            ),
            load=lambda: model.reading(opened.lexicon),
            identity=_identity(network, tokenizer),
            measured=False,
        )
        return audit(
            subject,
            opened,
            target,
            asked,
            public=public_source(public, target, opened, how=how, progress=progress),
            resources=Resources(threads=how.threads),
            page=write_page,
            progress=progress,
        )
    finally:
        network.train(training)


def _of(record: type[Record], settings: Sequence[object]) -> Record:
    """The settings of a kind, or the usual ones."""
    return next((each for each in settings if isinstance(each, record)), None) or record()


def weights_digest(network: torch.nn.Module) -> str:
    """Of all parameters, whatever they are stored as."""
    digest = hashlib.blake2b(digest_size=16)
    for name, weight in network.named_parameters():
        digest.update(name.encode())
        digest.update(weight.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _identity(network: Any, tokenizer: Any) -> AnswerIdentity:
    """What decides the answers of a network in memory, with its tokenizer."""
    weight = next(network.parameters())
    speaks = [tokenizer.backend_tokenizer.to_str(), str(tokenizer.special_tokens_map)]
    return AnswerIdentity(
        digest_of([weights_digest(network), str(network.config), *speaks]),
        weight.device.type,
        str(weight.dtype).removeprefix("torch."),
        packages=CAUSAL_PACKAGES,
    )


class LeakageCallback(TrainerCallback):  # type: ignore[misc]
    """Reports at the end of chosen epochs, or every so many steps, of a `transformers.Trainer`.

        trainer.add_callback(LeakageCallback(trainer, corpus, out))

    Each report is a run directory below `out`; `out/compare.html` puts them side by side at the
    end. Numbers go to whatever the Trainer logs to, as `leakage/...`; with a confidence threshold
    as `leakage_through_interface/...`.
    """

    def __init__(
        self,
        trainer: Any,
        corpus: str | os.PathLike[str],
        out: str | os.PathLike[str],
        *settings: object,
        every_epochs: int = 1,
        every_steps: int | None = None,
        budget: float = 0.5,
        fail_on: Sequence[str] = (),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`settings`: `ReportSettings`, `PublicSettings`, `LoadingSettings`, none or any of them.
        `budget`: reports may take at most this share of the whole time; one that is expected to
        exceed it is left out, and counted in `skipped`. `fail_on`: gates such as
        'unique_sequences>0' that stop the training. A tokenizer that does not fit is refused now,
        and so is a corpus that does not say what is trained on, unless
        `ReportSettings(trained_on=...)` does.
        """
        check_tokenizer(trainer.processing_class, trainer.model)
        manifest = Corpus.open(Path(corpus)).manifest
        of_model_from_elsewhere(_of(ReportSettings, settings), manifest)
        self.trainer, self.corpus, self.out = trainer, Path(corpus), Path(out)
        refuse_foreign(self.out)
        self.settings = settings
        self.every_epochs, self.every_steps, self.budget = every_epochs, every_steps, budget
        self.gates = [Gate.parse(text) for text in fail_on]
        if any(gate.metric == DP_EPSILON for gate in self.gates):
            raise LeakscopeError("A Trainer tells no DP epsilon; leave that gate out.")
        self.runs: list[Path] = []
        self.skipped = 0
        self.stopped_by: str | None = None
        """The gate that stopped the training, if one did."""
        self.unchecked: list[Path] = []
        """Runs whose gates cannot be checked, since the model knew no more than chance: a training
        begins so. If the last one is such a run, the end of the training raises."""
        self._clock, self._begin, self._spent, self._last = clock, 0.0, 0.0, 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start the clock."""
        self._begin = self._clock()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Report if so many steps have been done."""
        if self.every_steps is not None and state.global_step % self.every_steps == 0:
            self._report(state, control, f"step-{state.global_step:07d}")

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Report if so many epochs have been done."""
        epoch = round(state.epoch or 0)
        if self.every_steps is None and epoch and epoch % self.every_epochs == 0:
            self._report(state, control, f"epoch-{epoch:03d}")

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Put all reports side by side."""
        if self.runs:
            with locked(self.out):
                write_comparison(load_runs(self.runs), self.out)
        if self.gates and self.unchecked and self.unchecked[-1] == self.runs[-1]:
            self.gates[0].value(open_run(self.runs[-1])[1])

    def _report(self, state: Any, control: Any, name: str) -> None:
        now = self._clock()
        if self.runs and self._spent + self._last > self.budget * (now - self._begin + self._last):
            self.skipped += 1
            return
        metrics = report_on(
            self.trainer.model,
            self.trainer.processing_class,
            self.corpus,
            self.out / name,
            *self.settings,
            name=name,
            step=state.global_step,
            epoch=state.epoch,
        )
        self._last = self._clock() - now
        self._spent += self._last
        self.runs.append(self.out / name)
        self.trainer.log(logged(metrics))
        if metrics.warnings:
            self.unchecked.append(self.runs[-1])
            return
        for gate in self.gates:
            if gate.holds(metrics):
                self.stopped_by = gate.text
                control.should_training_stop = True


def logged(metrics: Metrics) -> dict[str, float]:
    """The aggregates of a report, for a log; those of an interface go by another name."""
    where = "leakage" if metrics.interface is None else "leakage_through_interface"
    found = {f"{where}/{name}": getattr(metrics, name) for name in LOGGED}
    return {name: float(value) for name, value in found.items() if value is not None}
