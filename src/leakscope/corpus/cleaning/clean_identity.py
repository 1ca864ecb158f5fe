"""What decides the rows of a cleaned corpus and the account of what was changed."""

from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from leakscope.corpus.building.input_files import describe
from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.corpus_files import digest_of_corpus_files
from leakscope.corpus.parts.reading import code_identity
from leakscope.corpus.store import Corpus
from leakscope.records.actions.action_list import DropList
from leakscope.records.artifacts import digest_of

_LIBRARIES = ("numpy", "pyarrow", "python-stdnum", "phonenumbers")


def cleaning_digest(corpus: Corpus, settings: CleanSettings, lists: list[DropList]) -> str:
    """A digest of all of it: the corpus's files, the lists' bytes, settings and versions."""
    libraries = [version(name) for name in _LIBRARIES]
    dropped = [[each.path.name, each.digest] for each in lists]
    told = asdict(settings) | {"drop": dropped}
    source = [corpus.path.name, digest_of_corpus_files(corpus)]
    return digest_of([*code_identity(), libraries, told, source, _presidio(settings)])


def _presidio(settings: CleanSettings) -> list[str]:
    """What finds personal data besides our own patterns: the versions, and the model's bytes."""
    if not settings.presidio:
        return []
    found = [version("presidio-analyzer"), version("spacy")]
    model = settings.presidio_model
    if model is not None and (folder := _folder_of(model)) is not None:
        found.append(describe(folder, "spacy").digest)
    return found


def _folder_of(model: str) -> Path | None:
    """Where an installed pipeline is; None if spaCy makes it from nothing, as blank:en."""
    if Path(model).exists():
        return Path(model)
    package = find_spec(model) if model.isidentifier() else None
    return Path(package.origin).parent if package is not None and package.origin else None
