"""Users by their keys: the numbers that a corpus gives them."""

from collections.abc import Iterable
from pathlib import Path

from leakscope.corpus.store import Corpus
from leakscope.records.errors import LeakscopeError


def numbers_of(corpus: Corpus, keys: Iterable[str]) -> dict[str, int]:
    """The number of every user of the corpus who has one of these keys, by key."""
    wanted = set(keys)
    return {
        key: number
        for shard in corpus.shards
        for number, key in shard.user_keys().items()
        if key in wanted
    }


def read_keys(path: Path) -> list[str]:
    """The user keys in a text file, one on each line, in their order; empty lines are none."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (FileNotFoundError, IsADirectoryError):
        raise LeakscopeError(
            f"There is no file {path}; give one with a user key on each line."
        ) from None
    except UnicodeDecodeError:
        raise LeakscopeError(f"{path} is not UTF-8; save it as such, one key a line.") from None
    return [line for line in (line.removesuffix("\r") for line in lines) if line]
