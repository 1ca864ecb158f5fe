"""The steps of a study that train a model for an update, and that compare two of them."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.updates.diff_run import RECORD, DiffJob
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.models.word.model_directory import weights_digest, words_of
from leakscope.records.artifacts import digest_of, read_parquet
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.output_claim import is_unfinished
from leakscope.studies.equal_usefulness import keep_snapshots, made_of
from leakscope.studies.kept_results import Step
from leakscope.training.finished_training import tidied
from leakscope.training.loop import train
from leakscope.training.train_settings import TrainSettings
from leakscope.updates.diff_settings import DiffSettings

PATHS = ("canaries", "old_corpus", "new_corpus", "sequences")


class StartFrom(NamedTuple):
    """Models that a training takes something from."""

    weights: Path | None = None
    vocabulary: Path | None = None


def update_training_step(
    corpus: Corpus, settings: TrainSettings, start: StartFrom, progress: Progress
) -> Step:
    """A training through all its epochs, without its snapshots."""
    made_from = made_of(corpus, settings) | {
        "lexicon": corpus.manifest.lexicon_digest,
        "from": None if start.weights is None else weights_digest(start.weights),
        "vocabulary": None if start.vocabulary is None else digest_of(words_of(start.vocabulary)),
    }
    return Step("train", made_from, partial(_train, corpus, settings, start, progress))


def _train(
    corpus: Corpus, settings: TrainSettings, start: StartFrom, progress: Progress, path: Path
) -> None:
    if (path / "config.json").exists():
        tidied(path)
    else:
        train(
            corpus,
            path,
            settings,
            warm_start=start.weights,
            vocabulary_from=start.vocabulary,
            progress=progress,
        )
    keep_snapshots(path, ())


def last_perplexity(model: Path) -> float | None:
    """Of the validation documents, after the training of a study; None: not measured."""
    history = model / "history.parquet"
    if not history.exists():
        return None
    found: float | None = read_parquet(history).to_pylist()[-1]["validation_perplexity"]
    return found


def diff_step(old: Path, new: Path, settings: DiffSettings, progress: Progress) -> Step:
    """What `diff` finds between two models of `train`."""
    plain = {name: value for name, value in asdict(settings).items() if name not in PATHS}
    del plain["threads"]
    corpora = {
        name: None if path is None else Corpus.open(path).manifest.digest
        for name, path in (("old_corpus", settings.old_corpus), ("new_corpus", settings.new_corpus))
    }
    canaries = settings.canaries
    made_from = {
        "old": weights_digest(old),
        "new": weights_digest(new),
        "canaries": None if canaries is None else CanaryManifest.load(canaries).digest,
        "settings": plain,
        **corpora,
    }
    job = DiffJob(str(old), str(new), settings, LoadingSettings(threads=settings.threads))
    return Step("diff", made_from, partial(job.into, progress=progress), _is_whole)


def _is_whole(path: Path) -> bool:
    return (path / RECORD).exists() and not is_unfinished(path)
