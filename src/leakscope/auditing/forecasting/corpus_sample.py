"""The first documents of a corpus, as a corpus of their own."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from leakscope.auditing.forecasting.rehearsal import Rehearsal, Watch, rehearsal_folder
from leakscope.canaries.planting.row_sources import CorpusSource
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress

FIRST_WORDS, LARGER, MOST_WORDS = 20_000, 4, 20_000_000
"""Words of the first sample, how many times larger each is than the one before, and where that
ends."""


def corpus_sample(corpus: Corpus, words: int, out: Path) -> tuple[Corpus, float]:
    """A corpus of about so many words at `out`, and its share of the whole; the corpus itself if it
    is no larger. Users are in hash order, so the first ones are as good as any.
    """
    whole = words_of(corpus)
    if words >= whole:
        return corpus, 1.0
    parts = (corpus.manifest.train, corpus.manifest.validation)
    documents = max(1, sum(part.documents for part in parts) * words // whole)
    made = build_rows(
        islice((each.row for each in CorpusSource(corpus).rows()), documents),
        out,
        origins=corpus.manifest.origins,
        settings=corpus.manifest.settings,
        split_given=True,
    )
    return made, words_of(made) / whole


def words_of(corpus: Corpus) -> int:
    """Of all documents, held out or not."""
    return corpus.manifest.train.words + corpus.manifest.validation.words


@dataclass(frozen=True)
class TimedSample:
    """Work on a sample of a corpus."""

    seen: Rehearsal
    share: float
    """Of the corpus."""


def timed_on_samples(
    corpus: Corpus, work: Callable[[Corpus, Path, Progress], object], enough: float
) -> TimedSample:
    """Work on larger and larger samples of a corpus until that takes long enough to be timed. The
    first one is not taken, since it also loads and compiles, unless it is the whole corpus.
    """
    size, first = FIRST_WORDS, True
    while True:
        with rehearsal_folder() as folder:
            sample, share = corpus_sample(corpus, size, folder / "sample")
            watch = Watch(None, folder=folder / "out")
            watch.start()
            work(sample, folder / "out", watch)
            seen = watch.seen(finished=True)
        if share >= 1 or size >= MOST_WORDS or (seen.seconds >= enough and not first):
            return TimedSample(seen, share)
        size, first = size * LARGER, False
