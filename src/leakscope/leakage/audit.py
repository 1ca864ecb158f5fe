"""The training data leakage report: score, collect, count, measure, write."""

import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from leakscope.corpus.store import Corpus, Shard
from leakscope.engine.progress import Progress, silent
from leakscope.engine.shards import map_shards
from leakscope.leakage.counting import count
from leakscope.leakage.scoring import ScoreStage, totals_in
from leakscope.leakage.sequences import Members, Sequences, contexts, distinct, examples, gather
from leakscope.leakage.tables import (
    Speller,
    user_keys,
    write_occurrences,
    write_sequences,
    write_users,
)
from leakscope.leakage.trie import Trie
from leakscope.models.evaluate import perplexity_of
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import (
    digest_of,
    digest_of_file,
    fresh_directory,
    private_directory,
    sweep,
    write_json,
)
from leakscope.records.documents import Documents, LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.run import Metrics, RunManifest, open_run

NO_PUBLIC = "no public model was given"


@dataclass(frozen=True)
class ReportSettings:
    """What a report is asked."""

    top_k: int = 1
    """How many suggestions the attacker sees."""
    user_threshold: int | None = None
    """List only sequences with fewer users in S than this (the p of Inan et al., section 5)."""
    reveal: bool = False
    """Write words and user keys, not only lengths and numbers."""
    contexts: int = 20
    """Occurrences listed with each sequence."""
    context_words: int = 32
    """Words of each listed context."""
    full_perplexity: bool = False
    """Measure the training perplexity on every word, at the cost of the full softmax."""

    def __post_init__(self) -> None:
        if self.top_k < 1:
            raise LeakscopeError("top-k must be at least 1.")
        if self.user_threshold is not None and self.user_threshold < 2:
            raise LeakscopeError("The threshold on users must be at least 2, or nothing is left.")
        if self.contexts < 1 or self.context_words < 0:
            raise LeakscopeError("Each sequence needs room for at least one context.")


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


def audit(
    subject: Subject,
    corpus: Corpus,
    out: Path,
    settings: ReportSettings,
    *,
    workers: int = 1,
    threads: int = 1,
    page: Callable[[Path], object] | None = None,
    progress: Progress = silent,
) -> Metrics:
    """Write the run directory `out`, its page by `page`. The same call resumes a killed run."""
    work = _claim(out)
    identity = {
        "model": subject.digest,
        "lexicon": corpus.manifest.lexicon_digest,
        "top_k": settings.top_k,
        "full": settings.full_perplexity,
        "leakscope": version("leakscope"),
    }
    keys = [digest_of({**identity, "shard": digest_of_file(shard.path)}) for shard in corpus.shards]
    stage = ScoreStage(corpus.path, subject.load, settings.top_k, settings.full_perplexity)
    parts = map_shards(stage, keys, work, workers=workers, progress=progress)

    progress("collect", 0, 1)
    trie = Trie.empty(corpus.manifest.lexicon)
    members = gather(parts, trie)
    progress("collect", 1, 1, f"{len(members.nodes)} correct runs")
    sizes = _Sizes(corpus.manifest.users)
    streams = [sizes.watch(shard) for shard in corpus.shards]
    sequences = distinct(members, count(trie, streams, threads))
    progress("count", 1, 1, f"{len(sequences)} sequences")

    totals = [totals_in(part) for part in parts]
    figures = dict(subject.figures)
    if settings.full_perplexity:
        mean = sum(each.log_prob for each in totals) / corpus.manifest.train.words
        figures["train_perplexity"] = perplexity_of(-mean)
        figures["train_perplexity_low"] = figures["train_perplexity_high"] = None
        exact = "the training perplexity was measured on every word"
        known = figures.get("reasons", {})
        figures["reasons"] = known | dict.fromkeys(
            ("train_perplexity_low", "train_perplexity_high"), exact
        )
    near_ties = sum(each.near_ties for each in totals)
    metrics = measure(members, sequences, corpus, settings, figures, near_ties)
    listed = (
        np.ones(len(sequences), np.bool_)
        if settings.user_threshold is None
        else sequences.users_in_s < settings.user_threshold
    )
    chosen = examples(members, sequences, settings.contexts)
    revealed, names = None, None
    if settings.reveal:
        found = contexts(members, chosen, corpus.documents(), settings.context_words)
        revealed = Speller(corpus.lexicon, trie, found)
        names = user_keys(shard.user_keys() for shard in corpus.shards)
    progress("write", 0, 1)
    write_sequences(out / "sequences.parquet", members, sequences, chosen, listed, revealed)
    write_occurrences(out / "occurrences.parquet", parts, members, sequences)
    write_users(out / "users.parquet", members, sequences, (sizes.documents, sizes.words), names)
    write_json(out / "metrics.json", metrics)
    write_json(out / "manifest.json", _manifest(subject, corpus, settings))
    if page is not None:
        page(out)
    shutil.rmtree(work)  # last: as long as it is there, the run can be taken up again
    progress("write", 1, 1)
    return metrics


def measure(
    members: Members,
    sequences: Sequences,
    corpus: Corpus,
    settings: ReportSettings,
    figures: dict[str, Any],
    near_ties: int,
) -> Metrics:
    """The headline numbers."""
    unique = sequences.unique
    by_length = np.bincount(sequences.lengths[unique])
    threshold = settings.user_threshold
    reasons = {"leakage_epsilon": NO_PUBLIC, "curated": NO_PUBLIC}
    for name in Metrics.model_fields:
        if name in _FIGURES and figures.get(name) is None:
            reasons[name] = figures.get("reasons", {}).get(name, "not measured")
    if not unique.any():
        reasons["longest_unique"] = "there are no unique sequences"
    owners = members.users[unique[sequences.of_member]]
    return Metrics(
        top_k=settings.top_k,
        users=corpus.manifest.train.users,
        documents=corpus.manifest.train.documents,
        words=corpus.manifest.train.words,
        correct_words=int(members.lengths.sum()),
        occurrences=len(members.nodes),
        sequences=len(sequences),
        unique_sequences=int(unique.sum()),
        unique_not_copied=int((unique & ~sequences.copied).sum()),
        unique_by_length={int(n): int(by_length[n]) for n in np.flatnonzero(by_length)},
        longest_unique=int(sequences.lengths[unique].max()) if unique.any() else None,
        users_with_unique=len(np.unique(owners)),
        user_threshold=threshold,
        below_threshold=len(sequences)
        if threshold is None
        else int((sequences.users_in_s < threshold).sum()),
        near_ties=near_ties,
        curated=None,
        leakage_epsilon=None,
        reasons=reasons,
        **{name: figures.get(name) for name in _FIGURES},
    )


_FIGURES = (
    "train_perplexity", "train_perplexity_low", "train_perplexity_high",
    "validation_perplexity", "validation_accuracy",
)  # fmt: skip


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


def is_same_run(out: Path, subject: Subject, corpus: Corpus, settings: ReportSettings) -> bool:
    """Whether `out` is the finished run of just this model, corpus and settings."""
    if not (out / "manifest.json").exists() or (out / ".work").is_dir():
        return False
    return open_run(out)[0] == _manifest(subject, corpus, settings)


def _manifest(subject: Subject, corpus: Corpus, settings: ReportSettings) -> RunManifest:
    packages = ("leakscope", "torch", "numpy", "numba", "pyarrow")
    return RunManifest(
        name=subject.name,
        versions={name: version(name) for name in packages} | {"python": platform.python_version()},
        settings=asdict(settings),
        revealed=settings.reveal,
        corpus_digest=corpus.manifest.digest,
        lexicon_digest=corpus.manifest.lexicon_digest,
        model_digest=subject.digest,
        model=subject.config,
    )
