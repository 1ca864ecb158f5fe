"""What a killed `canary plant` left in its directory, and whether it is of use."""

from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from leakscope.corpus.building.builder import tidied_build
from leakscope.corpus.corpus_files import is_intact_corpus
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.store import Corpus
from leakscope.records.artifacts import private_directory, write_text
from leakscope.records.output_claim import is_unfinished, remove

BEFORE = ".before"
"""A folder for what is needed until the planting has finished."""
RECORD = "planting"
"""In it: the digest of all that decides what is in the whole directory."""


def is_left_by(out: Path, digest: str) -> bool:
    """Whether what is in the directory was made from just this."""
    record = out / BEFORE / RECORD
    return record.is_file() and record.read_bytes() == digest.encode()


def begin(out: Path, digest: str) -> None:
    """Say from what everything in the directory is made that comes from now on."""
    write_text(private_directory(out / BEFORE) / RECORD, digest)


def end(out: Path) -> None:
    """Remove what was needed until now; what tells whose it is goes last."""
    for entry in (out / BEFORE).iterdir():
        if entry.name != RECORD:
            remove(entry)
    remove(out / BEFORE)


def corpus_of(
    rows: Iterable[Row], folder: Path, build: Callable[[Iterable[Row]], Corpus], *, unread: bool
) -> Corpus:
    """The corpus in `folder`: the one that a killed planting has finished, if it is intact, or else
    one that `build` makes. The rows pass in any case, unless they may stay `unread`.
    """
    if tidied_build(folder) and is_intact_corpus(folder):
        if not unread:
            deque(rows, maxlen=0)
        return Corpus.open(folder)
    if not is_unfinished(folder):  # damaged, or its removal was not finished
        remove(folder)
    return build(rows)
