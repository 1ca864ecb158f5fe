"""A model behind a block list against one call a prefix and a plain set of n-grams."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.models.ranking.top_k import best
from leakscope.models.wrappers.blocked import BlockedModel
from leakscope.records.block_lists.block_list import BlockList
from leakscope.records.documents import Documents
from small_models import SMALL, sharp_model

VOCABULARY = [f"w{i}" for i in range(9)]
WORDS = [f"w{i}" for i in range(12)]  # the last three are unknown to the model
texts = st.lists(st.lists(st.integers(0, 11), max_size=14), min_size=1, max_size=4)
ngrams = st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=4), max_size=25)


def spelled(ids):
    return [WORDS[id] for id in ids]


def block_list(items):
    return BlockList.build(map(spelled, items), 1e-12, salt=bytes(16), lowercase=False)


def is_blocked(items, said, word):
    """Whether `word` after `said` completes one of the n-grams."""
    text = [*said, word]
    return any(text[-len(item) :] == list(item) for item in items)


def left_after(model, items, said):
    """(the entries that are left, in order; the distribution) after the words `said`."""
    after = model.next(spelled(said))
    order = after.order(len(after.entries))
    return [e for e in order if e >= after.words or not is_blocked(items, said, e)], after


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("k", [1, 3])
@settings(max_examples=25)
@given(
    documents=texts,
    items=ngrams,
    follow=st.booleans(),
    batch=st.sampled_from([1, 13, 10_000]),
    seed=st.integers(0, 20),
)
def test_scores_equal_one_call_a_prefix(kind, k, documents, items, follow, batch, seed):
    plain = replace(sharp_model(kind, VOCABULARY, seed), batch_words=batch)
    precise = plain.precise
    if follow:  # n-grams that the documents have, so that labels are blocked too
        items = (
            items
            + [text[at : at + 1 + at % 4] for text in documents for at in range(len(text))][::3]
        )
    model = BlockedModel(plain, block_list(items), WORDS)
    packed = Documents.of([(0, ids) for ids in documents])
    scores = model.score(packed, top_k=k)
    everywhere = model.score(packed, top_k=k, every_probability=True)
    place = 0
    for ids in documents:
        for position, word in enumerate(ids):
            left, after = left_after(precise, items, ids[:position])
            entry = min(word, len(VOCABULARY))
            known = word < len(VOCABULARY) and entry in left
            expected = min(k, left.index(entry)) if known else k
            assert scores.rank[place] == everywhere.rank[place] == expected
            assert np.isclose(everywhere.log_prob[place], after.log_probs[entry], 1e-4, 1e-4)
            assert np.isclose(everywhere.top_log_prob[place], after.log_probs[left[0]], 1e-4, 1e-4)
            if expected < k:
                assert np.isclose(scores.log_prob[place], after.log_probs[entry], 1e-4, 1e-4)
                assert np.isclose(scores.top_log_prob[place], after.log_probs[left[0]], 1e-4, 1e-4)
            else:
                assert math.isnan(scores.log_prob[place])
            place += 1
    assert place == len(scores.rank)


@settings(max_examples=30)
@given(said=st.lists(st.integers(0, 11), max_size=8), items=ngrams, seed=st.integers(0, 9))
def test_next_gives_blocked_words_no_probability(said, items, seed):
    plain = sharp_model("gru", VOCABULARY, seed)
    model = BlockedModel(plain, block_list(items))
    left, after = left_after(plain, items, said)
    found = model.next(spelled(said))
    assert found.entries == after.entries and found.words == after.words
    for entry in range(len(found.entries)):
        expected = after.log_probs[entry] if entry in left else -math.inf
        assert found.log_probs[entry] == expected
    assert np.flatnonzero(~model.hides(spelled(said))).tolist() == sorted(left)


def test_more_candidates_are_asked_for_when_too_many_are_blocked():
    vocabulary = [f"w{i}" for i in range(200)]
    plain = sharp_model("gru", vocabulary, 1)
    order = plain.next([]).order(202)
    words = [entry for entry in order if entry < 200]
    items = [[word] for word in words[:150]]
    blocked = BlockList.build(
        [[vocabulary[i] for i in item] for item in items], 1e-12, salt=bytes(16), lowercase=False
    )
    model = BlockedModel(plain, blocked, vocabulary)
    marks = [entry for entry in order[: order.index(words[151])] if entry >= 200]
    wanted = [words[149], words[150], words[151]]
    scores = model.score(Documents.of([(0, [word]) for word in wanted]), top_k=3)
    expected = [3, len(marks), min(3, len(marks) + 1)]
    assert scores.rank[1:].tolist() != [3, 3] and scores.rank.tolist() == expected


def test_everything_blocked_leaves_the_marks():
    plain = sharp_model("lstm", VOCABULARY)
    model = BlockedModel(plain, block_list([[i] for i in range(12)]), WORDS)
    packed = Documents.of([(0, [0, 3, 11, 5])])
    assert model.score(packed, top_k=9).rank.tolist() == [9] * 4
    assert all(entry >= 9 for entry in model.next(["w1"]).order(2))


@pytest.mark.parametrize("kind", SMALL)
def test_an_empty_list_changes_nothing(kind):
    plain = sharp_model(kind, VOCABULARY, 5)
    packed = Documents.of([(0, [0, 1, 2, 3, 4] * 3), (1, []), (2, [11, 2])])
    scores = BlockedModel(plain, block_list([]), WORDS).score(packed, top_k=3)
    expected = plain.score(packed, top_k=3)
    for name in ("rank", "log_prob", "top_log_prob", "near_tie"):
        found, wanted = getattr(scores, name), getattr(expected, name)
        assert np.array_equal(found, wanted, equal_nan=found.dtype.kind == "f"), name


def test_near_ties_among_what_is_left_are_settled_whatever_the_batch():
    plain = sharp_model("gru", VOCABULARY, 3)
    with torch.inference_mode(), torch.no_grad():
        plain.network.output.weight[:9] = plain.network.output.weight[0].clone()
        plain.network.output.bias[:9] = 5.0
        plain.network.output.bias[9:] = -5.0
    packed = Documents.of([(0, [1, 2, 3, 8] * 3), (1, [8, 1])])
    for batch in (1, 5, 10_000):
        model = BlockedModel(replace(plain, batch_words=batch), block_list([[0]]), WORDS)
        scores = model.score(packed, top_k=8)
        assert scores.rank.tolist() == (packed.ids - 1).tolist()
        assert scores.near_tie.all()


@settings(max_examples=30)
@given(
    documents=texts,
    count=st.integers(1, 14),
    batch=st.sampled_from([1, 13, 10_000]),
    kind=st.sampled_from(sorted(SMALL)),
)
def test_candidates_are_the_first_of_each_prefix(documents, count, batch, kind):
    model = replace(sharp_model(kind, VOCABULARY, 2), batch_words=batch).precise
    entries, logs = model.candidates(Documents.of([(0, ids) for ids in documents]), count)
    assert entries.shape == logs.shape == (sum(map(len, documents)), min(count, 11))
    place = 0
    for ids in documents:
        for position in range(len(ids)):
            after = model.next(spelled(ids[:position]))
            assert entries[place].tolist() == after.order(count)
            assert np.allclose(logs[place], after.log_probs[entries[place]], atol=1e-5)
            place += 1


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=7, max_size=7), min_size=1, max_size=5),
    st.integers(1, 7),
)
def test_the_best_entries_come_in_order_with_ties_by_id(rows, count):
    """A unit matrix as hidden states makes the logits whatever we like."""
    logits = torch.tensor(rows, dtype=torch.float32)
    entries, logs = best(torch.eye(len(rows)), logits.T.contiguous(), torch.zeros(7), count)
    for row, values in enumerate(rows):
        expected = sorted(range(7), key=lambda entry: (-values[entry], entry))[:count]
        assert entries[row].tolist() == expected
        whole = torch.log_softmax(logits[row], 0)
        assert torch.allclose(logs[row], whole[expected])
