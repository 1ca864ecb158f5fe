"""`block_list`: from a report's unique sequences to a list of what the model must not complete."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.leakage.counts.minimal_windows import minimal_unique
from leakscope.leakage.hardening.stored_run import occurrences_of_unique
from leakscope.records.artifacts import already, damaged, private_directory
from leakscope.records.block_lists.block_list import BlockList
from leakscope.records.block_lists.block_list_file import SALT_BYTES
from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import new_file
from leakscope.records.runs.run_manifest import open_run

RATE = 0.001


@dataclass(frozen=True)
class BlockListSummary:
    """What went into a block list, in numbers only."""

    path: Path
    sequences: int
    """Unique sequences of the runs, none of which can come out any more."""
    ngrams: int
    """Their distinct minimal unique windows, which are blocked."""
    by_length: dict[int, int]
    """How many of these have each length."""
    rate: float
    """The stated share of other n-grams that are blocked too."""
    expected_rate: float
    """That share as this very list has it."""
    word_rate: float
    """The share of innocent words that are not suggested, at most."""
    bytes: int
    """Size of the file."""


def block_list(
    run: Path,
    corpus: Path,
    out: Path,
    *,
    more: Sequence[Path] = (),
    rate: float = RATE,
    threads: int = 1,
    salt: bytes | None = None,
    progress: Progress = silent,
) -> BlockListSummary:
    """Write to `out` a block list of the unique sequences of a run, redacted or not, of a report
    on `corpus`, and of `more` runs on it, such as a second report behind the list of the first.
    `salt` is drawn afresh unless given.
    """
    if os.path.lexists(out):
        raise already(out)
    opened = _what_was_trained_on(Corpus.open(corpus), (run, *more))
    progress("block list", 0, 3)
    sequences = sorted(
        {tuple(found) for each in (run, *more) for found in unique_sequences(each, opened)}
    )
    progress("block list", 1, 3, f"{len(sequences)} unique sequences")
    windows = minimal_unique(sequences, opened, threads)
    progress("block list", 2, 3, f"{len(windows)} minimal windows")
    words = opened.lexicon.words
    made = BlockList.build(
        ([words[id] for id in window] for window in windows),
        rate,
        salt=os.urandom(SALT_BYTES) if salt is None else salt,
        lowercase=opened.manifest.settings.lowercase,
        corpus_digest=opened.manifest.digest,
    )
    if not out.parent.exists():
        private_directory(out.parent)
    with new_file(out) as file:
        made.save(file)
    progress("block list", 3, 3)
    sizes = np.bincount(np.array([len(window) for window in windows], np.int64))
    return BlockListSummary(
        path=out,
        sequences=len(sequences),
        ngrams=made.count,
        by_length={int(length): int(sizes[length]) for length in np.flatnonzero(sizes)},
        rate=rate,
        expected_rate=made.expected_rate,
        word_rate=made.word_rate,
        bytes=out.stat().st_size,
    )


def _what_was_trained_on(corpus: Corpus, runs: Sequence[Path]) -> Corpus:
    """The corpus with the D of all these runs; raise unless they have one."""
    manifests = [open_run(run)[0] for run in runs]
    for run, manifest in zip(runs, manifests, strict=True):
        if manifest.corpus_digest != corpus.manifest.digest:
            raise LeakscopeError(
                f"The run in {run} is of another corpus than {corpus.path}; give the corpus that "
                f"it was made on."
            )
    if len({manifest.trained_on for manifest in manifests}) > 1:
        raise LeakscopeError(
            "The runs were made with different --trained-on, so what is unique in one need not be "
            "so in the other; make a block list of each."
        )
    return corpus.trained_on(manifests[0].trained_on)


def unique_sequences(run: Path, corpus: Corpus) -> Iterator[list[int]]:
    """The lexicon ids of every unique sequence of the run, each once, read from
    the corpus where it first came out: a redacted run knows where, though not what.
    """
    columns = ["sequence", "document", "start", "length"]
    found = occurrences_of_unique(run, columns)
    chosen = np.unique(found["sequence"].to_numpy(), return_index=True)[1]
    where: list[LongArray] = [
        found[name].to_numpy()[chosen].astype(np.int64) for name in columns[1:]
    ]
    numbers, starts, lengths = (each[np.argsort(where[0], kind="stable")] for each in where)
    done = 0
    for documents in corpus.documents():
        low, high = np.searchsorted(numbers, [documents.numbers[0], documents.numbers[-1] + 1])
        for at in range(int(low), int(high)):
            document = int(np.searchsorted(documents.numbers, numbers[at]))
            words = documents.words_of(document)[starts[at] : starts[at] + lengths[at]]
            if documents.numbers[document] != numbers[at] or len(words) != lengths[at]:
                raise damaged(run / "occurrences.parquet")
            done += 1
            yield words.tolist()
    if done != len(numbers):
        raise damaged(run / "occurrences.parquet")
