"""Words against tokens, character by character."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leakscope.corpus.words import spans
from leakscope.models.alignment import align
from leakscope.models.subword.word_tokens import WordTokenizer
from leakscope.records.errors import LeakscopeError
from tiny_causal import KINDS, documents, tokenizer

SPACES = [" ", "  ", "\n", "\t", "\x00", "\u200d"]
PIECES = ["the", " cat", " sells", "don't", "of the", "555-0199", "...", "<s>"]
FOREIGN = ["é", "e\u0301", "ß", "ﬁ", "漢字", "नमस्ते", "।", "👍🏽", "\ufffd"]
said = st.lists(
    st.sampled_from([*SPACES, *PIECES, *FOREIGN])
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    max_size=12,
).map("".join)
TOKENIZERS = {kind: WordTokenizer(tokenizer(kind)) for kind in KINDS}


def needed_plainly(words, tokens, special):
    """For each token, the words that need it: by sets of characters."""
    found = []
    for (start, stop), mark in zip(tokens, special, strict=True):
        covers = set(range(start, stop))
        mine = [i for i, word in enumerate(words) if covers & set(range(*word))]
        if not mine:
            mine = [i for i, (_, end) in enumerate(words) if end > start][:1]
        found.append([] if mark else mine)
    return found


@st.composite
def layouts(draw):
    """Words and tokens anywhere in a line; tokens may overlap, repeat and be empty."""
    cuts = draw(st.lists(st.integers(0, 20), max_size=12, unique=True).map(sorted))
    words = list(zip(cuts[::2], cuts[1::2], strict=False))
    starts = draw(st.lists(st.integers(0, 21), max_size=10).map(sorted))
    tokens = [(start, start + draw(st.integers(0, 6))) for start in starts]
    return words, tokens, [draw(st.booleans()) for _ in tokens]


@given(layouts())
def test_a_word_needs_the_tokens_that_cover_its_characters(layout):
    words, tokens, special = layout
    found = align(words, tokens, np.array(special, np.bool_))
    plain = needed_plainly(words, tokens, special)
    assert [list(range(*pair)) for pair in zip(found.first, found.stop, strict=True)] == plain
    pairs = sorted((t, w) for t, mine in enumerate(plain) for w in mine)
    assert sorted(zip(*(column.tolist() for column in found.needs()), strict=True)) == pairs


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150)
@given(texts=st.lists(said, min_size=1, max_size=3))
@example(texts=["", " ", "of the day  ", "\n\nof"])
def test_every_token_counts_once_and_sums_agree(kind, texts):
    reader = TOKENIZERS[kind]
    tokens, packed = reader.read(documents(texts)), documents(texts)
    place, word = 0, 0
    rng = np.random.default_rng(0)
    values = rng.normal(size=len(tokens.labels)).astype(np.float32)
    sums = tokens.alignment.sums_of(values)
    lead = reader.start is not None
    for index, text in enumerate(texts):
        encoded = reader.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ids, offsets = encoded["input_ids"], encoded["offset_mapping"]
        words = spans(text)
        special = [id in reader.special for id in ids]
        plain = needed_plainly(words, offsets, special)
        begin = int(tokens.starts[index])
        assert tokens.stream[begin : begin + lead].tolist() == [reader.start] * lead
        assert tokens.stream[begin + lead : tokens.starts[index + 1]].tolist() == ids
        scored = range(0 if lead else 1, len(ids))
        total = 0.0
        for token in scored:
            assert tokens.labels[place] == ids[token]
            mine = range(tokens.alignment.first[place] - word, tokens.alignment.stop[place] - word)
            assert list(mine) == plain[token]
            if mine:
                total += float(values[place])
            else:  # no word takes it: a mark, or behind the last word
                assert special[token] or not text[offsets[token][0] :].strip()
            place += 1
        mine = slice(word, word + len(words))
        assert np.isclose(sums[mine].sum(), total, atol=1e-4)
        for number, (start, stop) in enumerate(words):
            needs = [t for t, by in enumerate(plain) if number in by]
            covered = any(
                special[t] and set(range(*offsets[t])) & set(range(start, stop))
                for t in range(len(ids))
            )
            unknown = any(ids[t] == reader.unknown for t in needs)
            first = not lead and 0 in needs
            assert tokens.never[word + number] == (not needs or covered or unknown or first)
            if kind in ("bytes", "pieces"):
                assert needs or covered
        word += len(words)
    assert place == len(tokens.labels) and word == len(tokens.never) == len(packed.ids)


def test_the_cases_that_are_easy_to_get_wrong():
    words = [(0, 3), (4, 7), (7, 8)]

    def of(*tokens):
        found = align(words, tokens, np.zeros(len(tokens), np.bool_))
        return list(zip(found.first.tolist(), found.stop.tolist(), strict=True))

    assert of((0, 3), (3, 7), (7, 8)) == [(0, 1), (1, 2), (2, 3)]  # leading space
    assert of((0, 1), (1, 5), (5, 8)) == [(0, 1), (0, 2), (1, 3)]  # across words
    assert of((0, 1), (0, 1), (0, 3)) == [(0, 1)] * 3  # pieces of one character
    assert of((3, 4), (3, 3), (4, 4)) == [(1, 2)] * 3  # between words
    assert of((8, 9), (8, 8)) == [(3, 3)] * 2  # after the last word


def test_tokenizers_of_the_kinds_meant():
    def spelled(kind, text):
        reader = TOKENIZERS[kind]
        return reader.tokenizer.convert_ids_to_tokens(
            reader.tokenizer(text, add_special_tokens=False)["input_ids"]
        )

    assert any(token.startswith("Ġ") for token in spelled("bytes", "on the cat"))
    assert any("▁" in token[1:] for token in spelled("pieces", "she sells sea shells by the sea"))
    assert "<0xF0>" in spelled("pieces", "👍")
    assert "<unk>" in spelled("unigram", "👍")
    assert any(token.startswith("##") for token in spelled("wordpiece", "shellsthe"))


def test_texts_must_have_the_words_that_are_counted():
    wrong = documents(["one two"])
    with pytest.raises(LeakscopeError, match="build it again"):
        TOKENIZERS["bytes"].read(
            type(wrong)(wrong.users, wrong.numbers, wrong.offsets, wrong.ids, ["one"])
        )
    with pytest.raises(LeakscopeError, match="give it documents that carry them"):
        TOKENIZERS["bytes"].read(
            type(wrong)(wrong.users, wrong.numbers, wrong.offsets, wrong.ids, None)
        )
