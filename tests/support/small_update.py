"""A text of a few users, and an update of it that brings one more user with a secret."""

from pathlib import Path
from typing import NamedTuple

import pytest

import leakscope
from planted import WORDS, data_rows, write_jsonl

SECRET = [WORDS[place] for place in (7, 41, 3, 22)]
COMMON = [WORDS[place] for place in (1, 33, 12)]
SHAPE = {
    "arch": "gru", "hidden": 32, "embedding": 16, "threads": 1, "batch_size": 16, "epochs": 15,
    "learning_rate": 0.01, "optimizer": "adam",
}  # fmt: skip


class Update(NamedTuple):
    old_corpus: Path
    new_corpus: Path
    old: Path
    new: Path


@pytest.fixture(scope="session")
def update(tmp_path_factory) -> Update:
    """`new` is trained anew on the same text, the documents of a new user, who states a secret 12
    times, and a phrase that four of the earlier users have taken up.
    """
    folder = tmp_path_factory.mktemp("update")
    rows = [*data_rows(users=4, words=WORDS[:50]), ("u0", " ".join(WORDS[:50]))]
    added = [("newcomer", " ".join(SECRET))] * 12
    added += [(f"u{number % 4}", " ".join(COMMON)) for number in range(12)]
    for name, text in (("old", rows), ("new", rows + added)):
        source = write_jsonl(folder / f"{name}.jsonl", text)
        leakscope.corpus.build(source, folder / f"{name}-corpus", validation=0.0)
        leakscope.train(folder / f"{name}-corpus", folder / name, **SHAPE)
    return Update(folder / "old-corpus", folder / "new-corpus", folder / "old", folder / "new")
