"""Where tokens are in a text, from their spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.models.remote.spelled_tokens import is_unspelled, locate
from tiny_causal import tokenizer

TEXTS = st.text(
    st.sampled_from("abc the\n .,'-éüßñ日本漢字—…🙂👩‍👧\u0301наш"), min_size=1, max_size=30
)


def spelled(tok, text, unknown):
    encoded = tok(text, add_special_tokens=False, return_offsets_mapping=True)
    tokens = []
    for token in encoded["input_ids"]:
        raw = tok.convert_ids_to_tokens(token)
        said = raw.replace("▁", " ") if "▁" in raw else tok.decode([token])
        if raw.startswith("<0x") and int(raw[3:5], 16) > 127:
            said = unknown
        tokens.append(unknown if "\ufffd" in said else said)
    return tokens, encoded["offset_mapping"]


@pytest.mark.parametrize("unknown", ["", "\ufffd", "bytes:\\xe2"])
@pytest.mark.parametrize("kind", ["bytes", "pieces"])
@given(text=TEXTS)
def test_spelled_tokens_are_where_the_tokenizer_says(kind, unknown, text):
    if kind == "pieces" and text[0] == " ":
        return  # the mark before the first word and its space cannot be told apart
    tokens, offsets = spelled(tokenizer(kind), text, unknown)
    found = locate([*tokens, " something", " said"], text)
    assert found is not None and len(found) == len(tokens)
    edges = [0]
    for token, span, true in zip(tokens, found, offsets, strict=True):
        if not is_unspelled(token):
            assert text[span[0] : span[1]] == text[true[0] : true[1]] or kind == "pieces"
        edges.append(span[1])
        assert span[0] in edges or is_unspelled(token)
    assert found[-1][1] == len(text)


def test_hand_made_spellings():
    assert locate(["the", " cat"], "the cat") == [(0, 3), (3, 7)]
    assert locate([" the", " cat", " and"], "the cat") == [(0, 3), (3, 7)]
    assert locate(["a", "\ufffd", "\ufffd", "b"], "aéb") == [(0, 1), (1, 2), (1, 2), (2, 3)]
    assert locate(["", "", "", ""], "éü") == [(0, 1), (0, 1), (1, 2), (1, 2)]
    assert locate(["a", "", "b"], "ab") == [(0, 1), (1, 1), (1, 2)], "a mark"
    # A token too long for its server to spell, and more of the same behind it.
    assert locate(["x", "", "---", "\n"], "x" + "-" * 40 + "\n") == [
        (0, 1), (1, 38), (38, 41), (41, 42),
    ]  # fmt: skip


@pytest.mark.parametrize("tokens", [["dog"], ["the"], ["the", " dog"], []])
def test_other_texts_are_not_spelled(tokens):
    assert locate(tokens, "the cat") is None
