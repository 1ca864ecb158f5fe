"""`train`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakscope.commands.command_settings import TrainChoices
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.commands.train_options import train_settings
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.records.received_files import refuse_special_files
from leakscope.training.finished_training import history_of
from leakscope.training.loop import Running, Trained
from leakscope.training.loop import train as run_training
from leakscope.training.train_settings import TrainSettings


def _trained(out: Path) -> Trained:
    """A finished training as its directory tells of it."""
    return Trained(out, history_of(out))


@takes_options_of("train", again=_trained)
def train(
    corpus: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> Trained:
    """Train a word-level model on a corpus's training documents, into the model directory `out`;
    resumes if it was killed. `settings` are settings objects, such as `TrainSettings`; `options`
    single options by the names that the command line has, on top of a preset or of the settings.
    """
    asked = prepared_training(Path(corpus), Given("train", settings, options))
    return asked.into(Path(out), progress)


@dataclass(frozen=True)
class PreparedTraining:
    """A training that is all set."""

    corpus: Corpus
    settings: TrainSettings
    chosen: TrainChoices

    def into(self, out: Path, progress: Progress) -> Trained:
        """Train into a directory."""
        return run_training(
            self.corpus,
            out,
            self.settings,
            warm_start=self.chosen.warm_start,
            vocabulary_from=self.chosen.vocabulary_from,
            progress=progress,
            running=Running(workers=self.chosen.workers),
        )


def prepared_training(corpus: Path, given: Given) -> PreparedTraining:
    """What was given, checked; threads are set."""
    chosen = given.make(TrainChoices)
    asked = train_settings(given, chosen)
    opened = Corpus.open(corpus)
    for model in filter(None, (chosen.warm_start, chosen.vocabulary_from)):
        refuse_special_files(model)
    if chosen.threads is not None:
        import torch

        torch.set_num_threads(chosen.threads)
    return PreparedTraining(opened, asked, chosen)
