"""What a command needs of a remote input: which files, and how to tell at once that it is none."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from leakscope.engine.progress import Progress
from leakscope.records.errors import LeakscopeError
from leakscope.storage.fetching import PARTS_OF_MODELS, Listing, pull
from leakscope.storage.mirror import Mirror
from leakscope.storage.publishing import publish as upload
from leakscope.storage.remote_address import RemoteAddress

MODELS = (
    "model", "old", "new", "warm_start", "vocabulary_from", "base", "real", "reference",
    "public_model", "public",
)  # fmt: skip
_CORPORA = ("corpus", "old_corpus", "new_corpus")
_RUNS = ("run", "runs", "also")


def parts_left_out(name: str) -> tuple[str, ...]:
    """The folders that an argument or option of this name does without."""
    return PARTS_OF_MODELS if name in MODELS else ()


def check_of(name: str, address: RemoteAddress, listed: Listing) -> None:
    """Raise if what is at a URL cannot be what an argument or option of this name wants, before any
    of it is fetched.
    """
    names = {PurePosixPath(each).name for each in listed}
    if name in _CORPORA and "manifest.json" not in listed:
        raise LeakscopeError(f"{address.url} is not a corpus: it has no manifest.json.")
    if name in _RUNS and "metrics.json" not in names:
        raise LeakscopeError(f"{address.url} is not a run: it has no metrics.json.")
    if name in MODELS and "" not in listed and not _looks_like_a_model(names):
        raise LeakscopeError(f"{address.url} is not a model: it has no config.json.")


def _looks_like_a_model(names: set[str]) -> bool:
    records = {"config.json", "adapter_config.json", "folds.json"}
    return bool(names & records) or any(name.endswith(".gguf") for name in names)


@contextmanager
def opened_anew(address: RemoteAddress, progress: Progress, *, publish: bool) -> Iterator[None]:
    """All of what is at a URL, read now and as it is, damaged or not; gone again when the block
    ends. `publish`: what the block adds is uploaded.
    """
    mirror = Mirror(address, fresh=True)
    with mirror.locked(alone=True):
        mirror.clear()
        try:
            pull(mirror, progress, lenient=True)
            yield
            if publish:
                upload(mirror, progress)
        finally:
            mirror.clear()
