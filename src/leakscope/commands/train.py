"""`train`."""

from pathlib import Path

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.records.errors import LeakscopeError
from leakscope.training.loop import Trained
from leakscope.training.loop import train as run_training
from leakscope.training.train_settings import TrainSettings


def train(
    corpus: Path,
    out: Path,
    settings: TrainSettings,
    *,
    warm_start: Path | None = None,
    vocabulary_from: Path | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> Trained:
    """Train a word-level model on a corpus's training documents; resumes if it was killed."""
    if threads is not None:
        if threads < 1:
            raise LeakscopeError("The number of threads must be at least 1.")
        import torch

        torch.set_num_threads(threads)
    return run_training(
        Corpus.open(corpus),
        out,
        settings,
        warm_start=warm_start,
        vocabulary_from=vocabulary_from,
        progress=progress,
    )
