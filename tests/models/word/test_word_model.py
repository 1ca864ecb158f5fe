"""A word model's scores against one call for each prefix."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus.lexicon import Lexicon
from leakscope.models.evaluation import evaluate
from leakscope.models.ranking.windows import first_input, windows
from leakscope.records.documents import Documents
from small_models import SMALL, sharp_model

VOCABULARY = [f"w{i}" for i in range(9)]
texts = st.lists(st.lists(st.integers(0, 11), max_size=20), min_size=1, max_size=6)


def spelled(ids):
    return [f"w{i}" for i in ids]


@pytest.mark.parametrize("kind", SMALL)
@settings(max_examples=30)
@given(
    documents=texts,
    k=st.integers(1, 4),
    batch=st.sampled_from([1, 13, 10_000]),
    seed=st.integers(0, 20),
)
def test_scores_equal_one_call_a_prefix(kind, documents, k, batch, seed):
    model = replace(sharp_model(kind, VOCABULARY, seed), batch_words=batch)
    packed = Documents.of([(0, ids) for ids in documents])
    scores = model.score(packed, top_k=k)
    everywhere = model.score(packed, top_k=k, every_probability=True)
    place = 0
    for ids in documents:
        for position, word in enumerate(ids):
            after = model.precise.next(spelled(ids[:position]))
            entry = min(word, len(VOCABULARY))
            order = after.order(len(after.entries))
            expected = min(k, order.index(entry)) if word < len(VOCABULARY) else k
            assert scores.rank[place] == everywhere.rank[place] == expected
            assert math.isclose(
                everywhere.log_prob[place], after.log_probs[entry], rel_tol=1e-4, abs_tol=1e-4
            )
            if expected < k:
                assert math.isclose(
                    scores.log_prob[place], after.log_probs[entry], rel_tol=1e-4, abs_tol=1e-4
                )
                assert math.isclose(
                    scores.top_log_prob[place],
                    after.log_probs[order[0]],
                    rel_tol=1e-4,
                    abs_tol=1e-4,
                )
            else:
                assert math.isnan(scores.log_prob[place])
            place += 1
    assert place == len(scores.rank)


def test_a_long_document_is_carried_through_time_chunks():
    model = sharp_model("lstm", VOCABULARY)
    ids = np.random.default_rng(0).integers(0, 9, 1200).tolist()
    whole = model.score(Documents.of([(0, ids)]), top_k=2, every_probability=True)
    after = model.precise.next(spelled(ids[:1100]))
    assert math.isclose(whole.log_prob[1100], after.log_probs[ids[1100]], rel_tol=1e-4)


@given(st.integers(0, 100), st.sampled_from([None, 2, 3, 6, 7, 50]))
def test_windows_score_each_position_once_with_the_stated_inputs(length, context):
    places = []
    for window in windows(0, length, context):
        assert window.stop - window.first <= (context or length)
        for position in range(window.start, window.stop):
            assert first_input(position, context) == window.first
            places.append(position)
    assert places == list(range(length))


def test_exact_ties_go_to_the_lower_id_whatever_the_batch():
    model = sharp_model("gru", VOCABULARY, 3)
    with torch.inference_mode(), torch.no_grad():
        model.network.output.weight[:9] = model.network.output.weight[0].clone()
        model.network.output.bias[:9] = 5.0
        model.network.output.bias[9:] = -5.0
    packed = Documents.of([(0, [0, 1, 2, 3] * 5), (1, [8, 0])])
    for batch in (1, 5, 10_000):
        scores = replace(model, batch_words=batch).score(packed, top_k=9)
        assert scores.rank.tolist() == packed.ids.tolist()
        assert scores.near_tie.all()


def test_a_model_reads_another_lexicon_by_its_words():
    model = sharp_model("lstm", VOCABULARY)
    lexicon = Lexicon(["w3", "new", "w1"], np.ones(3, np.int64), np.ones(3, np.int64))
    entries = model.reading(lexicon).entries(Documents.of([(0, [0, 1, 2])]))
    assert entries.tolist() == [3, model.unknown, 1]


def test_evaluation_equals_the_definition():
    model = sharp_model("gru", VOCABULARY)
    texts = [[1, 2, 3, 11], [], [4, 4, 0], [10]]
    packed = Documents.of([(0, ids) for ids in texts])
    logs, hits = [], 0
    for ids in texts:
        for position, word in enumerate(ids):
            after = model.precise.next(spelled(ids[:position]))
            entry = min(word, 9)
            logs.append(after.log_probs[entry])
            hits += word < 9 and entry in after.order(3)
    found = evaluate(model, [packed], (1, 3))
    assert found.words == 8
    assert math.isclose(found.perplexity, math.exp(-np.mean(logs)), rel_tol=1e-4)
    assert found.accuracy[3] == hits / 8
    assert found.low <= found.perplexity <= found.high
    nothing = evaluate(model, [])
    assert nothing.perplexity is None and nothing.accuracy == {}


@settings(max_examples=20)
@given(n=st.integers(1, 5), t=st.integers(1, 9), seed=st.integers(0, 9))
def test_the_fast_gru_equals_the_plain_one(n, t, seed):
    network = sharp_model("gru", VOCABULARY, seed).precise.network
    tokens = torch.randint(0, 11, (n, t), generator=torch.Generator().manual_seed(seed))
    with torch.inference_mode():
        (fast,) = network.reader(10_000)(tokens)
        (plain,) = network.chunks(tokens)
    assert network.reader(10_000) != network.chunks and network.reader(3) == network.chunks
    assert torch.allclose(fast, plain, atol=1e-12)


def test_the_fast_gru_carries_its_state_through_time_chunks():
    network = sharp_model("gru", VOCABULARY).precise.network
    tokens = torch.randint(0, 11, (2, 1100), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        fast, plain = (
            torch.cat(list(r(tokens)), 1) for r in (network.reader(10**4), network.chunks)
        )
    assert fast.shape[1] == 1100 and torch.allclose(fast, plain, atol=1e-10)
