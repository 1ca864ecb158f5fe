"""Reading what servers echo, in the forms that they have for it."""

import pytest

from leakscope.models.remote.echoed_prompt import NEAR, answers_of
from leakscope.records.errors import LeakscopeError


def choice(tokens, own, top):
    return {"text": "", "logprobs": {"tokens": tokens, "token_logprobs": own, "top_logprobs": top}}


TOP = [None, {" cat": -0.1, " dog": -2.0}, {" sat": -0.2, ".": -1.5, "!": -3.0}]


@pytest.mark.parametrize(
    ("lead", "begin"), [([], ""), (["<s>"], ""), (["<s>"], "<s>"), ([""], ""), ([], "<s>")]
)
def test_marks_before_the_prompt_are_left_aside(lead, begin):
    tokens, own, top = ["the", " cat", "."], [None, -0.1, -1.5], TOP
    said = choice([*lead, *tokens], [None] * len(lead) + own, [None] * len(lead) + top)
    inside, behind = answers_of(said, begin, "the cat.", 1)
    assert [each.span for each in inside if each.span[1]] == [(0, 3), (3, 7), (7, 8)]
    assert [each.log_prob for each in inside[-3:]] == [None, -0.1, -1.5]
    assert [each.rank for each in inside[-2:]] == [0, 1] and not behind
    assert inside[-1].top == -0.2 and inside[-1].near is False


def test_spaces_may_be_spelled_as_sentencepiece_does():
    top = [None, {"▁cat": -0.1, "▁dog": -2.0}, {"▁sat": -0.2, ".": -1.5}]
    said = choice(["▁the", "▁cat", "."], [None, -0.1, -1.5], top)
    inside, _ = answers_of(said, "", "the cat.", 1)
    assert [each.span for each in inside] == [(0, 3), (3, 7), (7, 8)]
    assert [each.rank for each in inside] == [1, 0, 1]


def test_near_ties_are_flagged_at_the_kth_place():
    top = [
        None,
        {" cat": -1.0, " dog": -1.0 - NEAR / 2, " cow": -3.0},
        {".": -1.5, ",": -2.0, "!": -3.0},
    ]
    said = choice(["the", " cat", "."], [None, -1.0, -1.5], top)
    assert [each.near for each in answers_of(said, "", "the cat.", 1)[0]] == [False, True, False]
    assert [each.near for each in answers_of(said, "", "the cat.", 2)[0]] == [False, False, False]


def test_what_is_not_told():
    assert answers_of({"text": ""}, "", "the cat.", 1) is None
    assert answers_of(choice([" x"], [-1.0], [{" x": -1.0}]), "", "the cat sat there.", 1) is None
    with pytest.raises(LeakscopeError, match="do not spell"):
        answers_of(choice(["a", " dog", "."], [None, -0.1, -1.5], TOP), "", "the cat.", 1)


@pytest.mark.parametrize("names", [{}, {" cat": -0.1}])
def test_ranks_need_k_and_one_more_names(names):
    said = choice(["the", " cat", "."], [None, -0.1, -1.5], [None, names, TOP[2]])
    with pytest.raises(LeakscopeError, match="fewer tokens than the top k"):
        answers_of(said, "", "the cat.", 1)


def test_tokens_that_are_spelled_alike_make_near_ties():
    said = choice(["th", "", "."], [None, -0.1, -1.5], [None, {"": -0.1}, TOP[2]])
    inside, _ = answers_of(said, "", "thé.", 1)
    assert [each.near for each in inside] == [False, True, False]


@pytest.mark.parametrize("value", [1e-3, 1.0, float("inf"), float("-inf"), float("nan")])
def test_values_that_no_probability_has(value):
    for own, top in ((value, -1.0), (-1.0, value)):
        said = choice(["the", " cat", "."], [None, own, -1.5], [None, {" cat": top}, TOP[2]])
        with pytest.raises(LeakscopeError, match="above 0 or not finite"):
            answers_of(said, "", "the cat.", 1)


@pytest.mark.parametrize(
    "logprobs",
    [
        "none",
        [],
        {"tokens": ["the cat."], "token_logprobs": ["-1"], "top_logprobs": [None]},
        {"tokens": ["the cat."], "token_logprobs": [-1.0], "top_logprobs": [[{}]]},
        {"tokens": ["the cat."], "token_logprobs": [-1.0], "top_logprobs": [{"a": None}]},
        {"tokens": [7], "token_logprobs": [-1.0], "top_logprobs": [{}]},
        {"tokens": ["the cat."], "token_logprobs": [], "top_logprobs": []},
    ],
)
def test_odd_forms_are_none_at_all(logprobs):
    assert answers_of({"text": "", "logprobs": logprobs}, "", "the cat.", 1) is None


def test_long_texts_without_a_spelled_token():
    text = "日" * 400
    tokens = [""] * (3 * len(text))
    top = [None] + [{"": -0.1, "a": -2.0, "b": -3.0}] * (len(tokens) - 1)
    inside, _ = answers_of(choice(tokens, [None] + [-0.1] * (len(tokens) - 1), top), "", text, 1)
    assert [each.span for each in inside] == [(at, at + 1) for at in range(400) for _ in range(3)]
