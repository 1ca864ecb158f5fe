"""The training data leakage report: score, collect, count, measure, write."""

import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from leakscope.corpus.store import Corpus, Shard
from leakscope.engine.progress import Progress, silent
from leakscope.engine.shard_map import map_shards
from leakscope.leakage.correct_runs.score_stage import ScoreStage, totals_in
from leakscope.leakage.counts.counting import count
from leakscope.leakage.counts.trie import Trie
from leakscope.leakage.metrics import metrics_of
from leakscope.leakage.scrutiny.closer_look import scrutinize
from leakscope.leakage.scrutiny.public_surprise import Public, PublicSource
from leakscope.leakage.scrutiny.validation_answers import write_answers
from leakscope.leakage.sequences.distinct import (
    Members,
    Sequences,
    contexts,
    distinct,
    examples,
    gather,
)
from leakscope.leakage.tables import Speller, Tables, user_keys
from leakscope.models.evaluation import perplexity_of
from leakscope.models.interface import LanguageModel
from leakscope.models.wrappers.hardened import HardenedModel
from leakscope.records.artifacts import (
    digest_of,
    digest_of_file,
    fresh_directory,
    private_directory,
    sweep,
    write_json,
)
from leakscope.records.documents import Documents, IntArray, LongArray
from leakscope.records.report_settings import ReportSettings
from leakscope.records.run import Metrics, RunManifest, open_run


@dataclass(frozen=True)
class Subject:
    """The model under audit, as the report needs to know it."""

    name: str
    digest: str
    config: dict[str, Any]
    load: Callable[[], LanguageModel]
    """Brings the model, reading the corpus's lexicon; called once in every worker."""
    figures: dict[str, Any]
    """Perplexities and accuracies known already, by their names in `Metrics`, and `reasons` for
    those that are missing."""
    options: dict[str, Any] = field(default_factory=dict)
    """The options of the command as they were given, for the manifest."""
    measured: bool = True
    """Whether `figures` has what can be known of the validation words; if not, it is measured."""
    confirm: Callable[[], None] = lambda: None
    """Called before anything is written: raises if the model is not the one any more that gave
    the answers."""


def audit(
    subject: Subject,
    corpus: Corpus,
    out: Path,
    settings: ReportSettings,
    *,
    public: PublicSource | None = None,
    workers: int = 1,
    threads: int = 1,
    page: Callable[[Path], object] | None = None,
    progress: Progress = silent,
) -> Metrics:
    """Write the run directory `out`, its page by `page`. The same call resumes a killed run."""
    work = _claim(out)
    load = partial(_interface, subject.load, settings.confidence)
    parts = _score(subject.digest, load, corpus, settings, work, workers, progress)
    progress("collect", 0, 1)
    trie = Trie.empty(corpus.manifest.lexicon)
    members = gather(parts, trie)
    progress("collect", 1, 1, f"{len(members.nodes)} correct runs")
    sizes = _Sizes(corpus.manifest.users)
    streams = [sizes.watch(shard) for shard in corpus.shards]
    sequences = distinct(members, count(trie, streams, threads))
    progress("count", 1, 1, f"{len(sequences)} sequences")

    figures = _with_train_perplexity(subject.figures, parts, corpus, settings)
    judge = None if public is None else public(_owners(members, sequences))
    found = scrutinize(
        load, judge, corpus, settings, members, sequences, trie, progress,
        measure=not subject.measured,
    )  # fmt: skip
    reasons = figures.get("reasons", {}) | found.figures.get("reasons", {})
    figures = figures | found.figures | {"reasons": reasons}
    if settings.benchmark and judge is not None and not judge.digests:
        reasons["public_unique_sequences"] = "without unique sequences no model was retrained"
    if settings.benchmark and judge is not None and judge.digests:
        progress("benchmark", 0, 1)
        theirs = ReportSettings(top_k=settings.top_k)
        key = digest_of(list(judge.digests))
        scored = _score(key, judge.load, corpus, theirs, work, workers, progress)
        figures["public_unique_sequences"] = _unique_in(scored, corpus, threads)
        progress("benchmark", 1, 1)
    near_ties = sum(totals_in(part).near_ties for part in parts)
    metrics = metrics_of(members, sequences, corpus, settings, figures, near_ties, found.findings)
    listed = (
        np.ones(len(sequences), np.bool_)
        if settings.user_threshold is None
        else sequences.users_in_s < settings.user_threshold
    )
    chosen = examples(members, sequences, settings.contexts)
    revealed, names = None, None
    if settings.reveal:
        said = contexts(members, chosen, corpus.documents(), settings.context_words)
        revealed = Speller(corpus.lexicon, trie, said)
        names = user_keys(shard.user_keys() for shard in corpus.shards)
    subject.confirm()
    progress("write", 0, 1)
    tables = Tables(members, sequences, found.findings)
    tables.write_sequences(out / "sequences.parquet", chosen, listed, revealed)
    tables.write_occurrences(out / "occurrences.parquet", parts)
    tables.write_users(out / "users.parquet", (sizes.documents, sizes.words), names)
    if found.answers is not None:
        write_answers(out / "validation.parquet", found.answers)
    write_json(out / "metrics.json", metrics)
    write_json(out / "manifest.json", _manifest(subject, corpus, settings, judge))
    if page is not None:
        page(out)
    shutil.rmtree(work)  # last: as long as it is there, the run can be taken up again
    progress("write", 1, 1)
    return metrics


def _interface(load: Callable[[], LanguageModel], confidence: float | None) -> LanguageModel:
    """The model as the attacker meets it; in any process."""
    model = load()
    return model if confidence is None else HardenedModel(model, confidence)


def _score(
    digest: str,
    load: Callable[[], LanguageModel],
    corpus: Corpus,
    settings: ReportSettings,
    work: Path,
    workers: int,
    progress: Progress,
) -> list[Path]:
    """The scored shards, by everything that decides them."""
    identity = {
        "model": digest,
        "lexicon": corpus.manifest.lexicon_digest,
        "top_k": settings.top_k,
        "full": settings.full_perplexity,
        "confidence": settings.confidence,
        "block_list": settings.block_list,
        "leakscope": version("leakscope"),
    }
    keys = [digest_of({**identity, "shard": digest_of_file(shard.path)}) for shard in corpus.shards]
    stage = ScoreStage(corpus.path, load, settings.top_k, settings.full_perplexity)
    return map_shards(stage, keys, work, workers=workers, progress=progress)


def _owners(members: Members, sequences: Sequences) -> IntArray:
    """The users who own unique sequences."""
    return np.unique(members.users[sequences.unique[sequences.of_member]])


def _unique_in(parts: list[Path], corpus: Corpus, threads: int) -> int:
    """Metric 1 of some scored shards."""
    trie = Trie.empty(corpus.manifest.lexicon)
    members = gather(parts, trie)
    counts = count(trie, [shard.documents() for shard in corpus.shards], threads)
    return int(distinct(members, counts).unique.sum())


def _with_train_perplexity(
    figures: dict[str, Any], parts: list[Path], corpus: Corpus, settings: ReportSettings
) -> dict[str, Any]:
    """The known figures; the training perplexity is put right if every word was asked for."""
    if not settings.full_perplexity:
        return dict(figures)
    mean = sum(totals_in(part).log_prob for part in parts) / corpus.manifest.train.words
    ends = ("train_perplexity_low", "train_perplexity_high")
    exact = "the training perplexity was measured on every word"
    return (
        figures
        | {"train_perplexity": perplexity_of(-mean)}
        | dict.fromkeys(ends)
        | {"reasons": figures.get("reasons", {}) | dict.fromkeys(ends, exact)}
    )


class _Sizes:
    """Documents and words of each user, noted while the documents stream by to be counted."""

    def __init__(self, users: int) -> None:
        self.documents: LongArray = np.zeros(users, np.int64)
        self.words: LongArray = np.zeros(users, np.int64)

    def watch(self, shard: Shard) -> Iterator[Documents]:
        """The shard's training documents. Shards have users of their own, so threads may watch
        several at once.
        """
        for documents in shard.documents():
            low, high = int(documents.users[0]), int(documents.users[-1]) + 1
            users = documents.users - low
            self.documents[low:high] += np.bincount(users, minlength=high - low)
            lengths = documents.lengths().astype(np.float64)
            self.words[low:high] += np.bincount(users, lengths, high - low).astype(np.int64)
            yield documents


def _claim(out: Path) -> Path:
    """Take `out` for a run: fresh, or one that was killed on its way."""
    work = out / ".work"
    if work.is_dir():
        sweep(out)  # nothing of a revealed run must outlive it in a redacted one
        for entry in out.iterdir():
            if entry.is_file():
                entry.unlink()
    else:
        fresh_directory(out)
    return private_directory(work)


def is_same_run(
    out: Path,
    subject: Subject,
    corpus: Corpus,
    settings: ReportSettings,
    same_public_model: Callable[[dict[str, Any] | None], bool] = lambda record: record is None,
) -> bool:
    """Whether `out` is the finished run of just this model, corpus and settings, and of a public
    model whose record is the right one.
    """
    if not (out / "manifest.json").exists() or (out / ".work").is_dir():
        return False
    known = open_run(out)[0]
    wanted = _manifest(subject, corpus, settings, None)
    # Options say how it was run as well: on how many threads, or into which directory.
    same = known.model_copy(update={"public": None, "options": wanted.options}) == wanted
    return same and same_public_model(known.public)


def _manifest(
    subject: Subject, corpus: Corpus, settings: ReportSettings, judge: Public | None
) -> RunManifest:
    packages = ("leakscope", "torch", "numpy", "numba", "pyarrow")
    return RunManifest(
        name=subject.name,
        versions={name: version(name) for name in packages} | {"python": platform.python_version()},
        settings=asdict(settings) | {"thresholds": list(settings.thresholds)},
        revealed=settings.reveal,
        corpus_digest=corpus.manifest.digest,
        lexicon_digest=corpus.manifest.lexicon_digest,
        model_digest=subject.digest,
        model=subject.config,
        options=subject.options,
        public=None if judge is None else judge.record(),
    )
