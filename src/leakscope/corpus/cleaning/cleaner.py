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

from leakscope.corpus.building.builder import (
    BUILDING,
    CORPUS_FILES,
    LEXICON,
    MANIFEST,
    SHARDS,
    build_into,
)
from leakscope.corpus.cleaning.clean_identity import cleaning_digest
from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.cleaning.clean_summary import Changes, CleanSummary, Sizes
from leakscope.corpus.cleaning.duplicate_drops import found_duplicates
from leakscope.corpus.cleaning.kept_findings import KeptFindings
from leakscope.corpus.cleaning.listed_drops import DropListed, read_lists
from leakscope.corpus.cleaning.steps import (
    CleanDocument,
    DropDocuments,
    DropSentences,
    Learner,
    ReplaceRare,
    Scrub,
    Step,
)
from leakscope.corpus.manifest import InputFile
from leakscope.corpus.parts.reading import StreamIdentity
from leakscope.corpus.personal_data.kinds import Finder
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.shard_origins import ShardOrigins
from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.corpus.store import Corpus, Shard
from leakscope.engine.progress import Progress, silent
from leakscope.records.actions.action_list import DropList
from leakscope.records.artifacts import already, is_intact, read_json, seal_files, write_json
from leakscope.records.output_claim import Claim, claimed
from leakscope.records.seal import SEAL

ACCOUNT = "clean.json"


def clean(
    corpus: Corpus, out: str | Path, settings: CleanSettings, progress: Progress = silent
) -> CleanSummary:
    """Write the cleaned corpus, with its `clean.json`, to the new directory `out`.

    It is built with the settings of the old one, and every document that remains keeps its split.
    """
    with claimed(Path(out), "corpus clean") as claim:
        finder, lists = _presidio(settings), read_lists(settings.drop, corpus)
        digest = cleaning_digest(corpus, settings, lists)
        kept = KeptFindings(claim.path / BUILDING, digest, progress)
        if is_intact(claim.path / ACCOUNT):
            return _finished(claim, kept)
        steps = _Steps(corpus, settings, finder, lists, kept)
        # Without its account, the corpus of a killed one is incomplete.
        claim.clear({MANIFEST, LEXICON, SEAL, ACCOUNT}, keep={BUILDING, SHARDS})
        summary = _clean_into(
            claim, steps, StreamIdentity(digest, kept.is_accounted_for()), progress
        )
        kept.remove()
        return summary


def _finished(claim: Claim, kept: KeptFindings) -> CleanSummary:
    """The account of a cleaning that was killed while it tidied up; raise if it is another one."""
    claim.clear(keep={*CORPUS_FILES, ACCOUNT})
    if not kept.is_accounted_for():
        raise already(claim.path)
    kept.remove()
    return read_json(claim.path / ACCOUNT, CleanSummary, "a cleaned corpus")


def _clean_into(
    claim: Claim, steps: "_Steps", identity: StreamIdentity, progress: Progress
) -> CleanSummary:
    corpus, settings = steps.corpus, steps.settings
    made = build_into(
        claim,
        steps.rows(progress),
        inputs=[InputFile(name=corpus.path.name, format="corpus", digest=corpus.manifest.digest)],
        origins=corpus.manifest.origins,
        settings=corpus.manifest.settings,
        split_given=corpus.manifest.split_given,
        identity=identity,
        progress=progress,
    )
    changes = Changes.model_validate(steps.kept.account())
    summary = CleanSummary(
        corpus_digest=corpus.manifest.digest,
        settings=asdict(settings) | {"drop": [path.name for path in settings.drop]},
        before=Sizes.of(corpus.manifest),
        after=Sizes.of(made.manifest),
        **dict(changes),
    )
    write_json(claim.path / ACCOUNT, summary)
    seal_files(claim.path, [ACCOUNT])
    return summary


class _Steps:
    """The steps that the settings ask for, made ready one after the other."""

    def __init__(
        self,
        corpus: Corpus,
        settings: CleanSettings,
        finder: Finder | None,
        lists: list[DropList],
        kept: KeptFindings,
    ) -> None:
        self.corpus, self.settings, self.kept = corpus, settings, kept
        lowercase = corpus.manifest.settings.lowercase
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
        corpus = self.corpus
        if self.settings.documents != "none":
            gone = None if self.listed is None else self.listed.gone
            self.documents = found_duplicates(corpus, self.settings, progress, gone, self.kept)
        ready: list[Step] = []
        total = corpus.manifest.train.documents + corpus.manifest.validation.documents

        def learn(step: Learner, stage: str) -> None:
            seen = _watched(corpus, progress, stage, total)
            step.recall(
                self.kept.columns(
                    stage.replace(" ", "-"), lambda: step.learned(_through(ready, seen))
                )
            )

        ready += [step for step in (self.listed, self.documents) if step is not None]
        if self.sentences is not None:
            learn(self.sentences, "compare sentences")
            ready.append(self.sentences)
        if self.scrub is not None:
            ready.append(self.scrub)
        if self.rare is not None:
            learn(self.rare, "count users of words")
            ready.append(self.rare)
        keys: dict[int, str] = {}
        stream = _watched(corpus, progress, "clean", total, keys)
        for document in _through(ready, stream):
            yield Row(
                keys[document.user],
                document.text,
                split=document.split,
                accepted=True,
                origin=document.origin,
            )
        self.kept.keep_account(self._changes().model_dump(mode="json"))

    def _changes(self) -> Changes:
        return Changes(
            dropped=self.listed.summary() if self.listed is not None else None,
            documents=self.documents.summary() if self.documents is not None else None,
            sentences=self.sentences.summary() if self.sentences is not None else None,
            scrub=self.scrub.summary() if self.scrub is not None else None,
            rare_words=self.rare.summary() if self.rare is not None else None,
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


def _presidio(settings: CleanSettings) -> Finder | None:
    if not settings.presidio:
        return None
    from leakscope.corpus.personal_data.presidio_finder import presidio_finder  # noqa: PLC0415  an extra

    return presidio_finder(settings.presidio_model)
