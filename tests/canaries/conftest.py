"""Canaries in a small text, and a model that hardly knows them beside one that knows them all."""

from pathlib import Path
from typing import NamedTuple

import pytest

import leakscope
from leakscope.canaries.surprise import lexicon_of
from leakscope.models.word.model_directory import load_model
from leakscope.records.canaries.canary_manifest import CanaryManifest
from planted import WORDS, data_rows, write_jsonl

SHAPE = {"arch": "gru", "hidden": 48, "embedding": 24, "threads": 1, "batch_size": 16}


class Planted(NamedTuple):
    folder: Path
    manifest: CanaryManifest
    plain: Path
    overfitted: Path

    def model(self, name):
        path = self.plain if name == "plain" else self.overfitted
        return load_model(path).reading(lexicon_of(self.manifest))


@pytest.fixture(scope="session")
def planted(tmp_path_factory) -> Planted:
    """50 words, canaries of 3 of them, repeated once or 20 times; space of 125,000 texts."""
    folder = tmp_path_factory.mktemp("planted")
    rows = [*data_rows(users=4, words=WORDS[:50]), ("u0", " ".join(WORDS[:50]))]
    source = write_jsonl(folder / "data.jsonl", rows)
    leakscope.corpus.build(source, folder / "plain-corpus", validation=0.0)
    leakscope.train(folder / "plain-corpus", folder / "before", epochs=1, **SHAPE)
    manifest = leakscope.canary.plant(
        source, folder / "out", template="{words:3}", vocabulary=50, schedule="1,20", controls=40,
        validation=0.0, real=folder / "before",
    )  # fmt: skip
    corpus = folder / "out" / "corpus"
    leakscope.train(corpus, folder / "plain", epochs=2, learning_rate=0.003, optimizer="adam",
                    **SHAPE)  # fmt: skip
    leakscope.train(corpus, folder / "overfitted", epochs=40, learning_rate=0.01, optimizer="adam",
                    **SHAPE)  # fmt: skip
    return Planted(folder, manifest, folder / "plain", folder / "overfitted")
