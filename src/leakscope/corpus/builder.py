"""`corpus build`: from rows to a corpus directory, streaming.

It makes three passes over files on disk: it brings the rows of each user together, numbers the
words and writes provisional shards, and renumbers those by the finished lexicon.
"""

import platform
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

import numpy as np

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.build_tally import BuildTally, DoubtTally
from leakscope.corpus.input_files import describe
from leakscope.corpus.lexicon import LexiconBuilder
from leakscope.corpus.manifest import (
    SCHEMA_VERSION,
    CorpusManifest,
    InputFile,
    OriginFile,
    SplitCounts,
)
from leakscope.corpus.readers.detect import read_all
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import (
    EMPTY_TEXT,
    INVALID_UTF8,
    NULL_USER,
    TOO_LONG,
    UNKNOWN_SPLIT,
    Row,
)
from leakscope.corpus.rows_by_user import HashedRow, in_user_order, user_hash
from leakscope.corpus.shard_writer import ShardWriter, StoredDocument, renumber
from leakscope.corpus.split import TRAIN, VALIDATION, in_validation, split_named
from leakscope.corpus.store import Corpus
from leakscope.corpus.words import words
from leakscope.engine.progress import Progress, silent
from leakscope.records.artifacts import private_directory, write_sealed
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import Claim, claimed, remove
from leakscope.records.seal import SEAL

BUILDING, SHARDS, LEXICON, MANIFEST = ".building", "shards", "lexicon.parquet", "manifest.json"
CORPUS_FILES = (MANIFEST, BUILDING, SHARDS, LEXICON, SEAL)


def build(
    inputs: str | Path | Iterable[str | Path],
    out: str | Path,
    *,
    input_settings: InputSettings | None = None,
    settings: BuildSettings | None = None,
    progress: Progress = silent,
) -> Corpus:
    """Build a corpus from files, mail folders or repositories; see `readers.detect`."""
    paths = [Path(path) for path in ([inputs] if isinstance(inputs, str | Path) else inputs)]
    how = input_settings or InputSettings()
    described = [describe(path, how.format) for path in paths]
    rows = read_all(paths, how)  # checks paths and format at once
    return build_rows(
        rows,
        out,
        inputs=described,
        origins=[OriginFile.of(each) for each in described],
        settings=settings,
        split_given=how.split_column is not None,
        progress=progress,
    )


def build_rows(
    rows: Iterable[Row],
    out: str | Path,
    *,
    inputs: list[InputFile] | None = None,
    origins: list[OriginFile] | None = None,
    settings: BuildSettings | None = None,
    split_given: bool = False,
    progress: Progress = silent,
) -> Corpus:
    """Build a corpus from any stream of rows. `split_given`: they say which part they belong to, as
    whoever trained on them knows it. `origins`: the files that the origins of rows name.
    """
    with claimed(Path(out), "corpus build") as claim:
        return build_into(
            claim,
            rows,
            inputs=inputs,
            origins=origins,
            settings=settings,
            split_given=split_given,
            progress=progress,
        )


def build_into(
    claim: Claim,
    rows: Iterable[Row],
    *,
    inputs: list[InputFile] | None = None,
    origins: list[OriginFile] | None = None,
    settings: BuildSettings | None = None,
    split_given: bool = False,
    progress: Progress = silent,
) -> Corpus:
    """`build_rows` in a directory that the caller has claimed; what an interrupted build left
    there is removed, and a build that fails leaves nothing.
    """
    out = claim.path
    claim.clear(set(CORPUS_FILES) - {MANIFEST})
    building = private_directory(out / BUILDING)
    try:
        made = _build(rows, out, building, settings or BuildSettings(), progress)
        given = {"inputs": inputs or [], "origins": origins or [], "split_given": split_given}
        manifest = made.model_copy(update=given)
        shutil.rmtree(building)
        shards = [f"{SHARDS}/{name}" for name in manifest.shards]
        write_sealed(out / MANIFEST, manifest, [LEXICON, *shards])  # last: now it is complete
        return Corpus.open(out)
    except BaseException:
        for name in CORPUS_FILES:  # they hold text
            remove(out / name)
        raise


def _build(
    rows: Iterable[Row],
    out: Path,
    building: Path,
    settings: BuildSettings,
    progress: Progress,
) -> CorpusManifest:
    """Write everything but the manifest, and give that."""
    aside: Counter[str] = Counter()
    doubts = DoubtTally()
    usable = _usable(rows, settings, aside, doubts, progress)
    together = in_user_order(usable, building / "spill")
    tally = BuildTally()
    lexicon = LexiconBuilder()
    with ShardWriter(building, settings.shard_words, lexicon) as writer:
        for number, (user, spilled) in enumerate(groupby(together, key=lambda row: row.user)):
            for document in _documents(number, user, spilled, settings, lexicon, tally):
                writer.add(document)
            tally.close_user()
            writer.close_user()
            progress("number words", tally.documents)
    if not tally.counts[TRAIN]["documents"]:
        raise _nothing_left(tally, aside)
    finished, final = lexicon.finish(settings.order)
    finished.save(out / LEXICON)
    names = []
    for index, provisional in enumerate(writer.paths):
        progress("write shards", index, len(writer.paths))
        names.append(f"{index:05d}.parquet")
        renumber(provisional, private_directory(out / SHARDS) / names[-1], final)
    progress("write shards", len(names), len(names))
    return CorpusManifest(
        schema_version=SCHEMA_VERSION,
        versions={
            "charset-normalizer": version("charset-normalizer"),
            "leakscope": version("leakscope"),
            "pyarrow": version("pyarrow"),
            "python": platform.python_version(),
        },
        settings=settings,
        inputs=[],
        digest=tally.digest.hexdigest(),
        lexicon_digest=finished.digest,
        lexicon=len(finished),
        shards=names,
        train=SplitCounts(**tally.counts[TRAIN]),
        validation=SplitCounts(**tally.counts[VALIDATION]),
        users=tally.users,
        documents_per_user=tally.quantiles(),
        set_aside=dict(sorted(aside.items())),
        doubtful=doubts.counts(),
        most_words=tally.most_words,
    )


def _nothing_left(tally: BuildTally, aside: Counter[str]) -> LeakscopeError:
    reasons = ", ".join(f"{count} with {reason}" for reason, count in aside.items())
    if tally.documents:
        why = (
            f"all {tally.documents} were held out for validation; give a smaller --validation, or "
            f"another --split-column"
        )
    else:
        why = f"{reasons} set aside" if reasons else "the input is empty"
    return LeakscopeError(f"No document is left to train on: {why}.")


def _usable(
    rows: Iterable[Row],
    settings: BuildSettings,
    aside: Counter[str],
    doubts: DoubtTally,
    progress: Progress,
) -> Iterator[HashedRow]:
    """The rows that can be used, with their `doubts` counted; the others are counted in `aside` by
    reason.
    """
    for number, row in enumerate(rows, 1):
        if number % 10_000 == 0:
            progress("read", number)
        problem = row.problem or row_problem(row, settings)
        if problem is not None or row.user is None or row.text is None:
            aside[problem or EMPTY_TEXT] += 1
        else:
            doubts.add(row)
            part = None if row.split is None else split_named(row.split)
            origin = row.origin or (None, None)
            yield HashedRow(user_hash(row.user), row.user, row.text, part, *origin)


def row_problem(row: Row, settings: BuildSettings) -> str | None:
    """Why a row cannot be a document; None: it can."""
    if row.user is None or not row.user.strip():
        return NULL_USER
    if row.text is None or not row.text.strip():
        return EMPTY_TEXT
    if not row.accepted and len(row.text) > settings.max_characters:
        return TOO_LONG
    if row.split is not None and split_named(row.split) is None:
        return UNKNOWN_SPLIT
    try:
        (row.user + row.text).encode()
    except UnicodeEncodeError:
        return INVALID_UTF8
    return None


def _documents(
    number: int,
    user: str,
    rows: Iterable[HashedRow],
    settings: BuildSettings,
    lexicon: LexiconBuilder,
    tally: BuildTally,
) -> Iterator[StoredDocument]:
    numbering = lexicon.numbering
    for index, row in enumerate(rows):
        held = in_validation(settings.validation, settings.split_by, settings.seed, user, index)
        found = words(row.text, lowercase=settings.lowercase)
        document = StoredDocument(
            user=number,
            user_key=user,
            document=tally.documents,
            split=row.split or (VALIDATION if held else TRAIN),
            ids=np.array([numbering[word] for word in found], np.int32),
            text=row.text,
            input=row.input,
            row=row.row,
        )
        tally.add(document)
        yield document
