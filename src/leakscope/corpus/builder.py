"""`corpus build`: from rows to a corpus directory, streaming.

Three passes over files on disk: spill rows until each user's are together; number the words
and write provisional shards; renumber them by the finished lexicon.
"""

import hashlib
import platform
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

import numpy as np

from leakscope.corpus.lexicon import ORDERS, LexiconBuilder
from leakscope.corpus.manifest import SCHEMA_VERSION, CorpusManifest, InputFile, SplitCounts
from leakscope.corpus.readers.detect import detect, read
from leakscope.corpus.readers.rows import (
    EMPTY_TEXT,
    INVALID_UTF8,
    NULL_USER,
    TOO_LONG,
    Columns,
    Row,
)
from leakscope.corpus.shards import ShardWriter, StoredDocument, renumber
from leakscope.corpus.spill import Spilled, in_user_order, user_hash
from leakscope.corpus.split import SPLITS_BY, TRAIN, VALIDATION, in_validation
from leakscope.corpus.store import Corpus
from leakscope.corpus.words import words
from leakscope.engine.progress import Progress, silent
from leakscope.records.artifacts import (
    digest_of_file,
    fresh_directory,
    private_directory,
    write_json,
)
from leakscope.records.errors import LeakscopeError


@dataclass(frozen=True)
class BuildSettings:
    """How text becomes a corpus."""

    lowercase: bool = False
    order: str = "frequency"
    """What the lexicon is ordered by: "frequency" or "users"."""
    validation: float = 0.1
    """Fraction of documents (or users) held out."""
    split_by: str = "document"
    seed: int = 0
    max_characters: int = 1_000_000
    """Longer documents are set aside."""
    shard_words: int = 2_000_000
    """A shard is closed at the first user boundary after so many words."""

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise LeakscopeError(f"The lexicon is ordered by one of {', '.join(ORDERS)}.")
        if self.split_by not in SPLITS_BY:
            raise LeakscopeError(f"The split is by one of {', '.join(SPLITS_BY)}.")
        if not 0 <= self.validation < 1:
            raise LeakscopeError("The validation fraction must be at least 0 and below 1.")
        if self.shard_words < 1 or self.max_characters < 1:
            raise LeakscopeError("Sizes of shards and documents must be at least 1.")


def build(
    inputs: Iterable[Path],
    out: Path,
    *,
    columns: Columns | None = None,
    format: str | None = None,
    settings: BuildSettings | None = None,
    progress: Progress = silent,
) -> Corpus:
    """Build a corpus from files, mail folders or repositories; see `readers.detect`."""
    paths = list(inputs)
    columns = columns or Columns()
    described = [_describe(path, format) for path in paths]
    streams = [read(path, columns, format) for path in paths]  # checks paths and format at once
    rows = (row for stream in streams for row in stream)
    return build_rows(rows, out, inputs=described, settings=settings, progress=progress)


def build_rows(
    rows: Iterable[Row],
    out: Path,
    *,
    inputs: list[InputFile] | None = None,
    settings: BuildSettings | None = None,
    progress: Progress = silent,
) -> Corpus:
    """Build a corpus from any stream of rows."""
    settings = settings or BuildSettings()
    building = _claim(out)
    try:
        return _build(rows, out, building, inputs or [], settings, progress)
    except BaseException:
        for folder in (building, out / "shards"):  # they hold text
            shutil.rmtree(folder, ignore_errors=True)
        (out / "lexicon.parquet").unlink(missing_ok=True)
        raise


def _build(
    rows: Iterable[Row],
    out: Path,
    building: Path,
    inputs: list[InputFile],
    settings: BuildSettings,
    progress: Progress,
) -> Corpus:
    aside: Counter[str] = Counter()
    usable = _usable(rows, settings, aside, progress)
    together = in_user_order(usable, building / "spill")
    tally = _Tally()
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
    finished.save(out / "lexicon.parquet")
    names = []
    for index, provisional in enumerate(writer.paths):
        progress("write shards", index, len(writer.paths))
        names.append(f"{index:05d}.parquet")
        renumber(provisional, private_directory(out / "shards") / names[-1], final)
    progress("write shards", len(names), len(names))
    manifest = CorpusManifest(
        schema_version=SCHEMA_VERSION,
        versions={
            "leakscope": version("leakscope"),
            "pyarrow": version("pyarrow"),
            "python": platform.python_version(),
        },
        settings=asdict(settings),
        inputs=inputs,
        digest=tally.digest.hexdigest(),
        lexicon_digest=finished.digest,
        lexicon=len(finished),
        shards=names,
        train=SplitCounts(**tally.counts[TRAIN]),
        validation=SplitCounts(**tally.counts[VALIDATION]),
        users=tally.users,
        documents_per_user=tally.quantiles(),
        set_aside=dict(sorted(aside.items())),
    )
    write_json(out / "manifest.json", manifest)
    shutil.rmtree(building)
    return Corpus.open(out)


def _nothing_left(tally: "_Tally", aside: Counter[str]) -> LeakscopeError:
    reasons = ", ".join(f"{count} with {reason}" for reason, count in aside.items())
    if tally.documents:
        why = f"all {tally.documents} were held out for validation; give a smaller --validation"
    else:
        why = f"{reasons} set aside" if reasons else "the input is empty"
    return LeakscopeError(f"No document is left to train on: {why}.")


class _Tally:
    """Running sizes and digest of the documents as they stream by."""

    def __init__(self) -> None:
        self.digest = hashlib.blake2b(digest_size=16)
        self.users = 0
        self.documents = 0
        self.counts = {
            part: {"users": 0, "documents": 0, "words": 0} for part in (TRAIN, VALIDATION)
        }
        self._per_user: Counter[int] = Counter()
        self._current = {TRAIN: 0, VALIDATION: 0}

    def add(self, document: StoredDocument) -> None:
        for part in (document.user_key, document.split, document.text):
            data = part.encode()
            self.digest.update(b"%d:" % len(data) + data)
        self.documents += 1
        self._current[document.split] += 1
        self.counts[document.split]["documents"] += 1
        self.counts[document.split]["words"] += len(document.ids)

    def close_user(self) -> None:
        self.users += 1
        self._per_user[sum(self._current.values())] += 1
        for part, documents in self._current.items():
            self.counts[part]["users"] += documents > 0
        self._current = dict.fromkeys(self._current, 0)

    def quantiles(self) -> dict[str, float]:
        values = np.array(sorted(self._per_user), np.float64)
        weights = np.array([self._per_user[int(value)] for value in values])
        reached = np.cumsum(weights) / weights.sum()
        marks = {"min": 0.0, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99}
        found = {name: float(values[np.searchsorted(reached, q)]) for name, q in marks.items()}
        mean = float(np.average(values, weights=weights))
        return found | {"max": float(values[-1]), "mean": mean}


def _claim(out: Path) -> Path:
    """Take `out` for this build; what an interrupted build left there is removed."""
    if (out / ".building").is_dir():
        fresh_directory(out, (".building", "shards", "lexicon.parquet"))
    else:
        fresh_directory(out)
    return private_directory(out / ".building")


def _usable(
    rows: Iterable[Row], settings: BuildSettings, aside: Counter[str], progress: Progress
) -> Iterator[Spilled]:
    """The rows that can be used; the others are counted in `aside` by reason."""
    for number, row in enumerate(rows, 1):
        if number % 10_000 == 0:
            progress("read", number)
        problem = row.problem or _problem(row, settings)
        if problem is not None or row.user is None or row.text is None:
            aside[problem or EMPTY_TEXT] += 1
        else:
            yield Spilled(user_hash(row.user), row.user, row.text, row.split)


def _problem(row: Row, settings: BuildSettings) -> str | None:
    if row.user is None or not row.user.strip():
        return NULL_USER
    if row.text is None or not row.text.strip():
        return EMPTY_TEXT
    if row.split is None and len(row.text) > settings.max_characters:
        # Documents of another corpus were measured when that was built.
        return TOO_LONG
    try:
        (row.user + row.text).encode()
    except UnicodeEncodeError:
        return INVALID_UTF8
    return None


def _documents(
    number: int,
    user: str,
    rows: Iterable[Spilled],
    settings: BuildSettings,
    lexicon: LexiconBuilder,
    tally: _Tally,
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
        )
        tally.add(document)
        yield document


def _describe(path: Path, format: str | None) -> InputFile:
    if not path.exists():
        raise LeakscopeError(f"{path} does not exist.")
    if not path.is_file() and not path.is_dir():
        raise LeakscopeError(f"{path} is neither a file nor a folder; save the data to a file.")
    format = format or detect(path)
    if format == "git":
        head = subprocess.run(
            ["git", "-C", str(path), "rev-parse", "HEAD"], capture_output=True, check=False
        )
        return InputFile(name=path.name, format=format, digest=head.stdout.decode().strip())
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        listing = "\n".join(f"{file.relative_to(path)} {digest_of_file(file)}" for file in files)
        digest = hashlib.blake2b(listing.encode(errors="replace"), digest_size=16).hexdigest()
        return InputFile(name=path.name, format=format, digest=digest)
    return InputFile(name=path.name, format=format, digest=digest_of_file(path))
