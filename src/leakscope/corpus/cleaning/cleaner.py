"""`corpus clean`: a new corpus without what lists drop, duplicates, personal data or rare words.

What lists drop goes first. Duplicates are compared in the old text; then come sentences, scrubbing
and rare words, each on what the step before left. Duplicates are removed from the training part
only, and validation documents never count as the first copy; lists, scrubbing and rare words
concern both parts.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from leakscope.corpus.building.builder import BUILDING, CORPUS_FILES, build_into
from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.cleaning.clean_summary import CleanSummary, Sizes
from leakscope.corpus.cleaning.duplicates import KEPT, exact_duplicates, lowered, near_duplicates
from leakscope.corpus.cleaning.listed_drops import DropListed, read_lists
from leakscope.corpus.cleaning.steps import (
    CleanDocument,
    DropDocuments,
    DropSentences,
    ReplaceRare,
    Scrub,
    Step,
)
from leakscope.corpus.manifest import InputFile
from leakscope.corpus.personal_data.kinds import Finder
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.shard_origins import ShardOrigins
from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.corpus.store import Corpus, Shard
from leakscope.engine.progress import Progress, silent
from leakscope.records.artifacts import seal_files, write_json
from leakscope.records.documents import BoolArray, Documents, LongArray
from leakscope.records.output_claim import Claim, claimed, remove
from leakscope.records.ragged import offsets_of

ACCOUNT = "clean.json"


def clean(
    corpus: Corpus, out: str | Path, settings: CleanSettings, progress: Progress = silent
) -> CleanSummary:
    """Write the cleaned corpus, with its `clean.json`, to the new directory `out`.

    It is built with the settings of the old one, and every document that remains keeps its split.
    """
    with claimed(Path(out), "corpus clean") as claim:
        # Without its account, the corpus of a killed one is incomplete.
        claim.clear((*CORPUS_FILES, ACCOUNT))
        return _clean_into(claim, corpus, settings, progress)


def _clean_into(
    claim: Claim, corpus: Corpus, settings: CleanSettings, progress: Progress
) -> CleanSummary:
    finder = _presidio(settings)
    steps = _Steps(corpus, settings, finder)
    origin = InputFile(name=corpus.path.name, format="corpus", digest=corpus.manifest.digest)
    made = build_into(
        claim,
        steps.rows(progress),
        inputs=[origin],
        origins=corpus.manifest.origins,
        settings=corpus.manifest.settings,
        split_given=corpus.manifest.split_given,
        progress=progress,
    )
    remove(claim.path / BUILDING)
    summary = CleanSummary(
        corpus_digest=corpus.manifest.digest,
        settings=asdict(settings) | {"drop": [path.name for path in settings.drop]},
        before=Sizes.of(corpus.manifest),
        after=Sizes.of(made.manifest),
        dropped=steps.listed.summary() if steps.listed is not None else None,
        documents=steps.documents.summary() if steps.documents is not None else None,
        sentences=steps.sentences.summary() if steps.sentences is not None else None,
        scrub=steps.scrub.summary() if steps.scrub is not None else None,
        rare_words=steps.rare.summary() if steps.rare is not None else None,
    )
    try:
        write_json(claim.path / ACCOUNT, summary)
        seal_files(claim.path, [ACCOUNT])
    except BaseException:
        claim.clear((*CORPUS_FILES, ACCOUNT))
        raise
    return summary


class _Steps:
    """The steps that the settings ask for, made ready one after the other."""

    def __init__(self, corpus: Corpus, settings: CleanSettings, finder: Finder | None) -> None:
        self._corpus, self._settings = corpus, settings
        lowercase = corpus.manifest.settings.lowercase
        lists = read_lists(settings.drop, corpus)
        self.listed = DropListed(corpus, lists) if lists else None
        self.documents: DropDocuments | None = None
        self.sentences = (
            DropSentences(settings.min_words, across_users=settings.across_users)
            if settings.sentences != "none"
            else None
        )
        self.scrub = (
            Scrub(settings.scrub, finder, settings.phone_region)
            if settings.scrub or finder
            else None
        )
        self.rare = (
            ReplaceRare(settings.min_users, lowercase=lowercase)
            if settings.min_users is not None
            else None
        )

    def rows(self, progress: Progress) -> Iterator[Row]:
        """The rows of the cleaned corpus. Nothing is read before the first is asked for."""
        if self._settings.documents != "none":
            gone = None if self.listed is None else self.listed.gone
            self.documents = _find_duplicates(self._corpus, self._settings, progress, gone)
        ready: list[Step] = []
        total = self._corpus.manifest.train.documents + self._corpus.manifest.validation.documents
        wanted: list[tuple[Step | None, str | None]] = [
            (self.listed, None),
            (self.documents, None),
            (self.sentences, "compare sentences"),
            (self.scrub, None),
            (self.rare, "count users of words"),
        ]
        for step, stage in wanted:
            if step is None:
                continue
            if stage is not None:
                step.learn(_through(ready, _watched(self._corpus, progress, stage, total)))
            ready.append(step)
        keys: dict[int, str] = {}
        stream = _watched(self._corpus, progress, "clean", total, keys)
        for document in _through(ready, stream):
            yield Row(
                keys[document.user],
                document.text,
                split=document.split,
                accepted=True,
                origin=document.origin,
            )


def _through(steps: list[Step], documents: Iterable[CleanDocument]) -> Iterator[CleanDocument]:
    """One pass of the documents through the steps."""
    for step in steps:
        step.start()
    for document in documents:
        left: CleanDocument | None = document
        for step in steps:
            left = step.apply(left) if left is not None else None
        if left is not None:
            yield left


def _watched(
    corpus: Corpus,
    progress: Progress,
    stage: str,
    total: int,
    keys: dict[int, str] | None = None,
) -> Iterator[CleanDocument]:
    """All documents in corpus order; `keys` always has the current shard's user keys."""
    done = 0
    for shard in corpus.shards:
        if keys is not None:
            keys.clear()
            keys.update(shard.user_keys())
        origins = shard.origins()
        parts = (_of_split(shard, origins, split) for split in (TRAIN, VALIDATION))
        for document in heapq.merge(*parts, key=lambda document: document.number):
            if done % 1000 == 0:
                progress(stage, done, total)
            done += 1
            yield document
    progress(stage, total, total)


def _of_split(shard: Shard, origins: ShardOrigins, split: str) -> Iterator[CleanDocument]:
    for part in shard.documents(split, texts=True):
        for index, text in enumerate(part.texts or ()):
            number = int(part.numbers[index])
            origin = origins.of(number)
            yield CleanDocument(int(part.users[index]), number, split, text, origin)


def _find_duplicates(
    corpus: Corpus, settings: CleanSettings, progress: Progress, gone: BoolArray | None
) -> DropDocuments:
    """The duplicates among the documents that are not `gone` already."""
    progress("compare documents", 0)
    training = lowered(corpus.load(), corpus.lexicon)
    if gone is not None:
        training = _chosen(training, np.flatnonzero(~gone[training.numbers]))
    exact = exact_duplicates(training, across_users=settings.across_users)
    if settings.documents == "exact":
        return DropDocuments(_by_number(training, exact), None)
    left = np.flatnonzero(exact == KEPT)
    rest = _chosen(training, left)
    near = near_duplicates(
        rest,
        across_users=settings.across_users,
        threshold=settings.threshold,
        shingle=settings.shingle,
        seed=settings.seed,
        progress=lambda done, total: progress("compare documents", done, total),
    )
    return DropDocuments(_by_number(training, exact), _by_number(rest, near))


def _by_number(documents: Documents, original: LongArray) -> dict[int, bool]:
    """For each document that has an original, whether another user wrote the original."""
    found = np.flatnonzero(original != KEPT)
    others = documents.users[found] != documents.users[original[found]]
    return dict(zip(documents.numbers[found].tolist(), others.tolist(), strict=True))


def _chosen(documents: Documents, chosen: LongArray) -> Documents:
    """Some of the documents, in their order."""
    lengths = documents.lengths()
    mask = np.zeros(len(documents), np.bool_)
    mask[chosen] = True
    return Documents(
        documents.users[chosen],
        documents.numbers[chosen],
        offsets_of(lengths[chosen]),
        documents.ids[np.repeat(mask, lengths)],
    )


def _presidio(settings: CleanSettings) -> Finder | None:
    if not settings.presidio:
        return None
    from leakscope.corpus.personal_data.presidio_finder import presidio_finder  # noqa: PLC0415  an extra

    return presidio_finder(settings.presidio_model)
