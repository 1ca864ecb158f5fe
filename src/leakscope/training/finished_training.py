"""A training whose model is there already."""

from pathlib import Path

from leakscope.corpus.store import Corpus
from leakscope.models.word.model_directory import load_config
from leakscope.records.artifacts import digest_of, read_parquet
from leakscope.records.models.model_config import users_digest
from leakscope.records.output_claim import taken_up
from leakscope.training.checkpoint import remove_checkpoints
from leakscope.training.history import HISTORY, Line
from leakscope.training.train_settings import TrainSettings
from leakscope.training.training_setup import StartingPoint

COMMAND = "train"


def tidied(out: Path) -> bool:
    """Whether a training was killed after its model was written and before it had tidied up, which
    is then done now.
    """
    with taken_up(out, COMMAND) as killed:
        if killed:
            remove_checkpoints(out)
    return killed


def is_result_of(out: Path, corpus: Corpus, settings: TrainSettings, start: StartingPoint) -> bool:
    """Whether `out` holds the finished model of just this training."""
    if not (out / "config.json").is_file():
        return False
    config, without = load_config(out), start.without_users
    left_out = None if config.without_users is None else config.without_users.digest
    return (
        digest_of(config.training) == digest_of(settings.shareable())
        and config.corpus_digest == corpus.manifest.digest
        and config.initialized_from == start.weights
        and left_out == (None if without is None else users_digest(without))
        and (config.vocabulary_from is None) == (start.vocabulary_from is None)
    )


def history_of(out: Path) -> list[Line]:
    """The lines of a finished training."""
    found: list[Line] = read_parquet(out / HISTORY).to_pylist()
    return found
