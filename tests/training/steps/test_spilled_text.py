"""A text in files without names: the same text, and the same weights bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.models.word.model_directory import weights_digest
from leakscope.training.loop import Running, train
from leakscope.training.mitigations.plain_settings import PlainSettings
from leakscope.training.regularizers.adversarial_settings import AdversarialSettings
from leakscope.training.regularizers.triplet_settings import TripletSettings
from leakscope.training.steps import spilled_text
from leakscope.training.steps.spilled_text import marked_text, training_documents
from private_training import private


@pytest.fixture
def spilling(monkeypatch):
    """Every text is kept in files, a few words at a time."""
    monkeypatch.setattr(spilled_text, "HELD_WORDS", 0)
    monkeypatch.setattr(spilled_text, "_BLOCK", 7)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(3)
    rows = [
        Row(f"u{n % 9}", " ".join(f"w{w}" for w in rng.integers(0, 40, rng.integers(1, 30))))
        for n in range(120)
    ]
    return build_rows(rows, tmp_path_factory.mktemp("spilled") / "c")


@given(st.lists(st.lists(st.integers(0, 9), max_size=25), min_size=1, max_size=12))
def test_documents_lie_between_marks(tmp_path_factory, documents):
    flat = np.array([word for each in documents for word in each], np.int64)
    offsets = np.cumsum([0, *map(len, documents)]).astype(np.int64)
    expected = [word for each in documents for word in (99, *each, 99)]
    assert marked_text(flat, offsets, 99, None).tolist() == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilled_text, "HELD_WORDS", -1)
        patch.setattr(spilled_text, "_BLOCK", 7)
        folder = tmp_path_factory.mktemp("text")
        assert marked_text(flat, offsets, 99, folder).tolist() == expected
    assert not list(folder.iterdir())


@pytest.mark.parametrize("without", [None, np.array([1, 4], np.int32)])
def test_the_documents_are_the_same(corpus, spilling, without, tmp_path):
    held = training_documents(corpus, without, None)
    found = training_documents(corpus, without, tmp_path)
    for name in ("users", "numbers", "offsets", "ids"):
        assert getattr(found, name).tolist() == getattr(held, name).tolist()
    assert not list(tmp_path.iterdir())


MITIGATIONS = {
    "none": PlainSettings(),
    "dp": private().mitigation,
    "adversarial": AdversarialSettings(),
    "triplet": TripletSettings(),
}


@pytest.mark.parametrize(
    ("kind", "workers"),
    [("none", 1), ("none", 2), ("dp", 1), ("adversarial", 1), ("triplet", 1)],
)
def test_the_weights_are_the_same(corpus, kind, workers, tmp_path, monkeypatch):
    how, running = replace(private(), mitigation=MITIGATIONS[kind]), Running(workers=workers)
    train(corpus, tmp_path / "held", how, running=running)
    monkeypatch.setattr(spilled_text, "HELD_WORDS", 0)
    train(corpus, tmp_path / "spilled", how, running=running)
    assert weights_digest(tmp_path / "spilled") == weights_digest(tmp_path / "held")
