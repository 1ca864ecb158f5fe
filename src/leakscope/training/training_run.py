"""A training on its way: steps, snapshots and checkpoints, with the mitigation that it is given."""

from collections.abc import Callable, Sequence
from pathlib import Path

from leakscope.corpus.split import VALIDATION
from leakscope.engine.postponed_interrupt import postponed_interrupt
from leakscope.engine.progress import Progress
from leakscope.models.evaluation import evaluate
from leakscope.models.word.model_directory import save_model
from leakscope.records.artifacts import private_directory
from leakscope.records.models.model_config import ModelConfig
from leakscope.training.checkpoint import (
    Checkpoint,
    folder_name,
    load_checkpoint,
    remove_checkpoints,
    save_checkpoint,
)
from leakscope.training.distributed.crew import Crew
from leakscope.training.followed_training import weights_of
from leakscope.training.history import (
    HISTORY_FILES,
    TOP_K,
    Line,
    describe,
    text_figures,
    validation_figures,
    write_history,
)
from leakscope.training.identity import Identity
from leakscope.training.mitigations.mitigation import TrainedNetwork
from leakscope.training.mitigations.registry import kept_files, registered
from leakscope.training.text_sample import sample_of
from leakscope.training.training_setup import TrainingSetup

Clock = Callable[[], float]


class TrainingRun:
    """Runs the steps of a mitigation and keeps what they make."""

    def __init__(
        self,
        setup: TrainingSetup,
        out: Path,
        identity: Identity,
        crew: Crew,
        progress: Progress,
        clock: Clock,
    ) -> None:
        self._setup, self._out, self._identity = setup, out, identity
        self._crew, self._progress, self._clock = crew, progress, clock
        self._model, self._settings = setup.model, setup.settings
        self._trained = TrainedNetwork(setup.model.network, setup.optimizer)
        given = setup.settings.mitigation
        self._mitigation = registered(given.kind).start(given, setup.workbench())
        self._sample = sample_of(setup.documents, setup.settings.seed)
        self._epoch = self._step = self._total_steps = self._words = 0
        self._loss = self._seconds = 0.0
        self.history: list[Line] = []
        self.missed: tuple[str, ...] = ()
        """What was asked for and will not be there, and why, a sentence each."""

    def resume(self, state: Checkpoint) -> None:
        """Take up where a checkpoint stands."""
        load_checkpoint(self._out, state, self._trained, self._mitigation)
        self._epoch, self._step, self._total_steps = state.epoch, state.step, state.total_steps
        self._loss, self._words, self._seconds = state.loss, state.words, state.seconds
        self.history = list(state.history)

    def finish(self) -> None:
        """Run the remaining steps and write the model."""
        self._crew.assemble()  # all of them, while the checkpoint that they begin with is there
        try:
            self._mitigation.open(self._out, self._total_steps)
            self._tell_warnings()
            self._tell_missed()
            self._run()
        finally:
            self._mitigation.close()

    def _run(self) -> None:
        if self._total_steps:  # a kill may have come before what was due at the checkpoint
            self._keep([name for name in self._due() if not self._has(name)])
        with postponed_interrupt() as interrupted:
            while self._total_steps < self._mitigation.total and not self._is_good_enough():
                self._take()
                if not interrupted():
                    self._report()
                    self._keep(self._due())
                if interrupted():
                    self._stop()
        self._measure()
        self._tell_unreached()
        write_history(self._out, self.history)
        kept = [name for name in kept_files() if (self._out / name).exists()]
        save_model(self._out, self._model, self._config(), also=[*HISTORY_FILES, *kept])
        remove_checkpoints(self._out)

    def _is_good_enough(self) -> bool:
        """Whether a snapshot has reached the perplexity that the training was to stop at."""
        wanted = self._settings.until_perplexity
        found = self.history[-1]["validation_perplexity"] if self.history else None
        return wanted is not None and found is not None and found <= wanted

    def _stop(self) -> None:
        """Ctrl-C: keep the step taken last, which a private training has spent, and end. What else
        was due after it is made up for when the training is resumed.
        """
        self._checkpoint()
        total = self._mitigation.total
        note = f"interrupted; the checkpoint has all {self._total_steps} steps of {total}"
        self._progress("checkpoint", self._total_steps, total, note)
        raise KeyboardInterrupt

    def _tell_missed(self) -> None:
        missed = self._mitigation.missed.items()
        self.missed = tuple(why for name, why in missed if not self._has(name))
        for why in self.missed:
            self._progress("plan", self._total_steps, self._mitigation.total, why)

    def _tell_unreached(self) -> None:
        wanted = self._settings.until_perplexity
        if wanted is not None and not self._is_good_enough():
            why = f"A validation perplexity of {wanted:g} was not reached; train for more --epochs."
            self.missed += (why,)
            self._progress("plan", self._total_steps, self._mitigation.total, why)

    def _tell_warnings(self) -> None:
        for warning in self._mitigation.warnings:
            self._progress("warning", self._total_steps, self._mitigation.total, warning)

    def _due(self) -> Sequence[str]:
        """The names of the snapshots that are due after the step taken last."""
        asked = self._mitigation.snapshots_after(self._total_steps)
        if asked is not None:
            return asked
        every = self._settings.snapshot_steps
        if every is None:
            return (f"epoch-{self._epoch + 1:03d}",) if self._is_last_of_epoch() else ()
        return () if self._total_steps % every else (f"step-{self._total_steps:07d}",)

    def _is_last_of_epoch(self) -> bool:
        return self._step == self._mitigation.per_epoch

    def _keep(self, snapshots: Sequence[str]) -> None:
        """Write these snapshots of the step taken last, and the checkpoints that are due, and go
        over to the next epoch after the last step of one.
        """
        last = self._is_last_of_epoch()
        if snapshots:
            self._snapshot(snapshots)
        elif self._is_checkpoint() and not last:
            self._checkpoint()
        if last:
            self._epoch, self._step, self._loss, self._words = self._epoch + 1, 0, 0.0, 0
            self._checkpoint()

    def _is_checkpoint(self) -> bool:
        if self._mitigation.checkpoint_after(self._total_steps):
            return True
        return self._total_steps % self._settings.checkpoint_steps == 0

    def _take(self) -> None:
        begin = self._clock()
        self._crew.begin(self._total_steps)
        taken = self._mitigation.take(self._total_steps)
        self._loss += taken.loss
        self._words += taken.words
        self._step += 1
        self._total_steps += 1
        self._seconds += self._clock() - begin

    def _report(self) -> None:
        note = f"epoch {self._epoch + 1}"
        if self._mitigation.tells_text:
            note += f", loss {self._loss / self._words:.3f}"
        self._progress("train", self._total_steps, self._mitigation.total, note)

    def _measure(self) -> None:
        """Append a line to the history: validation figures, and the training text's on a sample.
        One that is there already serves, unless the mitigation's own numbers have changed since.
        """
        added = dict(self._mitigation.history(self._total_steps))
        last = self.history[-1] if self.history else {}
        if last.get("step") == self._total_steps and last | added == last:
            return
        validation = evaluate(self._model, self._setup.corpus.documents(VALIDATION), TOP_K)
        line: Line = {
            "epoch": self._epoch + self._step / self._mitigation.per_epoch,
            "step": self._total_steps,
            **self._of_training(),
            **validation_figures(validation),
            "seconds": self._seconds,
            **added,
        }
        self.history.append(line)
        self._progress("snapshot", self._total_steps, None, describe(line, validation))

    def _of_training(self) -> dict[str, float | None]:
        """Figures of the training text, where they may be told: the config gives them away."""
        if not self._mitigation.tells_text:
            return text_figures(None, None)
        loss = self._loss / self._words if self._words else None
        return text_figures(loss, evaluate(self._model, [self._sample], TOP_K))

    def _snapshot(self, names: Sequence[str]) -> None:
        """Write the snapshots of one step. The checkpoint comes first: killed before the snapshots
        are there, a training finds them due when it is resumed.
        """
        self._measure()
        self._checkpoint()
        for name in names:
            folder = private_directory(self._out / "snapshots") / name
            save_model(folder, self._model, self._config())
        write_history(self._out, self.history)

    def _has(self, snapshot: str) -> bool:
        return (self._out / "snapshots" / snapshot / "config.json").exists()

    def _checkpoint(self) -> None:
        self._crew.check_digest(lambda: weights_of(self._model.network))
        state = Checkpoint(
            settings_digest=self._identity.digest,
            made_with=self._identity.shareable,
            folder=folder_name(self._epoch, self._total_steps),
            epoch=self._epoch,
            step=self._step,
            total_steps=self._total_steps,
            loss=self._loss,
            words=self._words,
            seconds=self._seconds,
            history=self.history,
        )
        save_checkpoint(self._out, state, self._trained, self._mitigation)

    def _config(self) -> ModelConfig:
        record = self._mitigation.record(self._total_steps)
        return self._setup.config(self.history[-1] if self.history else {}, record)
