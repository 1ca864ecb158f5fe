"""Users' texts: what a step takes from them, and what is refused."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import BatchSampler, DataLoader, RandomSampler

from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.custom_loop.user_texts import ExampleTexts, TokenTexts, check_data
from leakscope.training.dp.sampling import InsecureUsers, PoissonSampler

CPU = torch.device("cpu")
DOCUMENT = st.lists(st.integers(0, 50), max_size=8)
USER = st.lists(DOCUMENT, max_size=5).map(lambda documents: [*documents, [1, 2, 3]])
DATA = st.lists(USER, min_size=1, max_size=6)


def given_by_user(data, cap, step, seed, rate=1.0, unit="user"):
    """What each drawn unit gives: lists of tokens, in order."""
    texts = TokenTexts(data, unit, CPU)
    sampler = PoissonSampler(texts.units, rate, cap, seed=seed, source=InsecureUsers(3))
    draw = sampler.draw(step)
    if not len(draw):
        return {}
    rows = texts.batch(draw)
    pieces = [ids[mask].tolist() for ids, mask in zip(rows.ids, rows.mask, strict=True)]
    return {
        int(unit): pieces[draw.offsets[i] : draw.offsets[i + 1]]
        for i, unit in enumerate(draw.units)
    }


@given(data=DATA, cap=st.integers(1, 20), step=st.integers(0, 9), seed=st.integers(0, 9))
def test_a_user_gives_beginnings_of_its_own_documents_up_to_the_cap(data, cap, step, seed):
    given = given_by_user(data, cap, step, seed)
    assert set(given) == set(range(len(data)))
    for user, pieces in given.items():
        documents = [document for document in data[user] if len(document) > 1]
        words = sum(len(document) - 1 for document in documents)
        assert sum(len(piece) - 1 for piece in pieces) == min(cap, words)
        assert all(len(piece) > 1 for piece in pieces)
        for piece in pieces[:-1]:
            documents.remove(piece)  # whole, and none twice
        assert any(document[: len(pieces[-1])] == pieces[-1] for document in documents)


@given(data=DATA, other=DATA, step=st.integers(0, 9))
def test_what_a_user_gives_depends_on_nobody_else(data, other, step):
    alone = given_by_user([data[0]], 7, step, 5)[0]
    assert given_by_user([*other, data[0], *other], 7, step, 5)[len(other)] == alone


def test_the_documents_of_a_step_vary():
    data = [[[i, i] for i in range(20)]]
    first = {given_by_user(data, 1, step, 0)[0][0][0] for step in range(40)}
    assert len(first) > 10


def test_each_document_is_a_unit_if_asked():
    data = [[[1, 2], [3, 4, 5]], [[6, 7]]]
    assert given_by_user(data, 9, 0, 0, unit="document") == {
        0: [[1, 2]],
        1: [[3, 4, 5]],
        2: [[6, 7]],
    }


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor, lambda x: np.array(x, np.uint8)])
def test_tokens_may_come_in_many_ways(kind):
    plain = TokenTexts([[[1, 2], [3, 4, 5]], [[6, 7]]], "user", CPU)
    same = TokenTexts([[kind([1, 2]), kind([3, 4, 5])], [kind([6, 7])]], "user", CPU)
    assert same.digest == plain.digest
    assert (same.units.keys == plain.units.keys).all()


def test_the_digest_tells_texts_users_and_cuts_apart():
    datas = [
        [[[1, 2, 3, 4]], [[5, 6]]],
        [[[1, 2, 3, 5]], [[5, 6]]],
        [[[1, 2], [3, 4]], [[5, 6]]],
        [[[1, 2, 3, 4], [5, 6]]],
        [[[5, 6]], [[1, 2, 3, 4]]],
    ]
    assert len({TokenTexts(data, "user", CPU).digest for data in datas}) == len(datas)


def test_texts_are_copied():
    document = np.array([1, 2, 3])
    texts = TokenTexts([[document]], "user", CPU)
    document[:] = 9
    sampler = PoissonSampler(texts.units, 1.0, 9, seed=0, source=InsecureUsers(0))
    assert texts.batch(sampler.draw(0)).ids.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    "data",
    [
        [[1, 2, 3], [4, 5]],
        ["some text", "more"],
        [["some text"], ["more"]],
        [{"input_ids": [1, 2]}],
        [[{"input_ids": [1, 2]}]],
        [[[1.5, 2.5]]],
        [[[True, False]]],
        [[[[1, 2], [3, 4]]]],
        [[[[1, 2], [3]]]],
        [3, 4],
    ],
)
def test_what_is_no_list_of_documents_is_refused_without_quoting_it(data):
    with pytest.raises(LeakscopeError, match="list of one user's documents") as refused:
        TokenTexts(data, "user", CPU)
    assert "text to" not in str(refused.value)
    assert "some" not in str(refused.value)


@pytest.mark.parametrize("ids", [[-1, 2], [1, 2**31]])
def test_ids_that_no_vocabulary_has_are_refused(ids):
    with pytest.raises(LeakscopeError, match="below"):
        TokenTexts([[ids]], "user", CPU)


@pytest.mark.parametrize("empty", [[], [[]], [[4]]])
def test_users_without_text_are_refused(empty):
    with pytest.raises(LeakscopeError, match=r"1 of 3 users \(the first is number 1"):
        TokenTexts([[[1, 2]], empty, [[3, 4]]], "user", CPU)


def test_documents_without_text_are_refused_where_they_are_the_unit():
    data = [[[1, 2], [5]], [[3, 4]]]
    assert len(TokenTexts(data, "user", CPU).units) == 2
    with pytest.raises(LeakscopeError, match="1 of 3 documents"):
        TokenTexts(data, "document", CPU)


ROWS = [torch.zeros(2), torch.ones(2)]


@pytest.mark.parametrize(
    "data",
    [
        DataLoader(ROWS, batch_size=2, shuffle=True),
        RandomSampler(ROWS),
        BatchSampler(RandomSampler(ROWS), 2, drop_last=False),
    ],
)
def test_batches_of_the_callers_are_refused_with_the_reason(data):
    with pytest.raises(LeakscopeError, match="would make epsilon wrong"):
        check_data(data)


@pytest.mark.parametrize("data", [iter([[[1, 2]]]), {"user": [[1, 2]]}, {1, 2}, "text", None])
def test_what_is_no_sequence_of_users_is_refused(data):
    with pytest.raises(LeakscopeError, match="one entry for each user"):
        check_data(data)


def test_no_users_are_refused():
    with pytest.raises(LeakscopeError, match="no users"):
        check_data([])


def test_examples_are_told_apart_by_what_collate_makes_of_them():
    def texts(*values):
        data = [[{"x": value} for value in user] for user in values]
        return ExampleTexts(
            data, "user", lambda rows: {"x": torch.tensor([row["x"] for row in rows])}
        )

    one = texts([1.0, 2.0], [3.0])
    assert one.units.sizes.tolist() == [1, 1, 1]
    assert one.digest == texts([1.0, 2.0], [3.0]).digest
    assert one.digest != texts([1.0], [2.0, 3.0]).digest
    assert one.units.keys[1] == texts([3.0]).units.keys[0]
    with pytest.raises(LeakscopeError, match="1 of 2 users"):
        texts([1.0], [])


@pytest.mark.parametrize(
    "collate",
    [
        lambda rows: torch.zeros(2, 3),
        lambda rows: torch.tensor(1.0),
        lambda rows: (torch.zeros(1, 3), torch.zeros(3)),
        lambda rows: (),
        lambda rows: rows[0],
    ],
)
def test_a_collate_that_makes_no_rows_is_refused(collate):
    with pytest.raises(LeakscopeError, match="collate must make"):
        ExampleTexts([["a"], ["b"]], "user", collate)
