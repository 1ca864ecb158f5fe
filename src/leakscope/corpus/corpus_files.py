"""The files of a corpus directory, as bytes: whether they are whole, and what tells them apart."""

from pathlib import Path

from leakscope.corpus.store import Corpus
from leakscope.records.artifacts import digest_of, digest_of_file, is_intact, read_seal
from leakscope.records.errors import LeakscopeError
from leakscope.records.seal import SEAL


def digest_of_corpus_files(corpus: Corpus) -> str:
    """A digest of all that a corpus is, its shards and origins included; its manifest's does not
    depend on those. Its seal stands for the files, which are held to it when they are read.
    """
    seal = corpus.path / SEAL
    if seal.exists():
        return digest_of_file(seal)
    names = ["manifest.json", "lexicon.parquet", *(f"shards/{n}" for n in corpus.manifest.shards)]
    return digest_of([digest_of_file(corpus.path / name) for name in names])


def is_intact_corpus(folder: Path) -> bool:
    """Whether a corpus is there as it was written, each of its files."""
    try:
        sealed = read_seal(folder / SEAL)
    except LeakscopeError:
        return False
    return (
        sealed is not None
        and "manifest.json" in sealed
        and all(is_intact(folder / name) for name in sealed)
    )
