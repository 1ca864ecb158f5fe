"""Huge documents are scored to the same bits, in a few bytes of memory for each word."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.engine import spilled_array
from leakscope.models.word import word_entries
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.networks import Network
from leakscope.models.word.word_model import WordModel
from leakscope.records.documents import Documents
from peak_memory import growth_of
from small_models import SMALL, sharp_model

VOCABULARY = [f"w{i}" for i in range(9)]
texts = st.lists(st.lists(st.integers(0, 11), max_size=40), min_size=1, max_size=4)


def bits(scores):
    columns = (scores.rank, scores.log_prob, scores.top_log_prob, scores.near_tie)
    return [(column.dtype, column.tobytes()) for column in columns]


@pytest.mark.parametrize("kind", SMALL)
@settings(max_examples=20)
@given(documents=texts, k=st.integers(1, 3), every=st.booleans(), long=st.sampled_from([1, 9, 50]))
def test_scores_are_those_of_ordinary_documents(kind, documents, k, every, long):
    model = sharp_model(kind, VOCABULARY)
    packed = Documents.of([(0, ids) for ids in documents])
    wanted = packed.ids % 2 == 0
    plain = model.score(packed, top_k=k, every_probability=every)
    logs = model.log_probs(packed, wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilled_array, "LONG", long)
        patch.setattr(word_entries, "BLOCK", 7)
        huge = model.score(packed, top_k=k, every_probability=every)
        assert bits(huge) == bits(plain)
        assert model.log_probs(packed, wanted).tobytes() == logs.tobytes()


class LastWord(Network):
    """States that are the last word's embedding: a million words take no time."""

    def hidden(self, tokens, chance=None):
        return self.embedding(tokens)

    def chunks(self, tokens):
        return (self.embedding(some) for some in torch.split(tokens, 512, dim=1))


def test_scoring_a_huge_document_takes_a_few_bytes_a_word(monkeypatch):
    monkeypatch.setattr(spilled_array, "LONG", 1 << 18)
    torch.manual_seed(0)
    words, network = 4_000_000, LastWord(Architecture("lstm", 1, 8, 8), len(VOCABULARY) + 2)
    model = WordModel(network, VOCABULARY)
    ids = np.random.default_rng(0).integers(0, 12, words, np.int32)
    one = Documents(np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([0, words]), ids)
    model.score(one.cut(np.array([100_000])), top_k=2)
    assert growth_of(lambda: model.score(one, top_k=2)) < 8 * words
