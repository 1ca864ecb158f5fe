"""`train`."""

import os
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
    given = Given("train", settings, options)
    chosen = given.make(TrainChoices)
    asked = train_settings(given, chosen)
    opened = Corpus.open(Path(corpus))
    for model in filter(None, (chosen.warm_start, chosen.vocabulary_from)):
        refuse_special_files(model)
    if chosen.threads is not None:
        import torch

        torch.set_num_threads(chosen.threads)
    return run_training(
        opened,
        Path(out),
        asked,
        warm_start=chosen.warm_start,
        vocabulary_from=chosen.vocabulary_from,
        progress=progress,
        running=Running(workers=chosen.workers),
    )
