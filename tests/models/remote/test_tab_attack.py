"""Comparing continuations with the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.corpus.words import spans, words
from leakscope.models.remote.endpoint import Endpoint
from leakscope.models.remote.tab_attack import TabModel, compare
from leakscope.records.errors import LeakscopeError
from tiny_causal import documents


def compared(text, place, answer, cut):
    return compare(text, spans(text), place, answer, cut=cut)


@pytest.mark.parametrize(
    ("answer", "cut", "expected"),
    [
        (" cat sat.", False, (3, False)),
        (" cat sat.", True, (2, False)),  # more dots might have come
        (" cat sat. And", True, (3, False)),
        (" cat sa", True, (1, False)),
        (" cat sa", False, (1, True)),
        (" cat sat", True, (1, False)),
        (" cat sat", False, (2, True)),
        (" cats", True, (0, True)),
        (" cat", True, (0, False)),
        (" dog sat.", True, (0, True)),
        ("  cat sat.", True, (0, True)),
        ("s cat", True, (0, True)),
        ("", False, (0, True)),
        ("", True, (0, False)),
    ],
)
def test_by_hand(answer, cut, expected):
    assert compared("the cat sat.", 1, answer, cut) == expected


def test_the_first_word_follows_nothing():
    assert compared("the cat", 0, "the cat sat", cut=True) == (2, False)
    assert compared("the cat", 0, " the cat", cut=True) == (0, True)


@given(
    text=st.text(st.sampled_from("ab c'.日é\n"), min_size=1, max_size=25),
    answer=st.text(st.sampled_from("ab c'.日é\n"), max_size=25),
    copied=st.integers(0, 25),
    cut=st.booleans(),
    data=st.data(),
)
def test_against_the_words_of_both_texts(text, answer, copied, cut, data):
    places = spans(text)
    if not places:
        return
    place = data.draw(st.integers(0, len(places) - 1))
    end = places[place - 1][1] if place else 0
    answer = text[end : end + copied] + answer
    correct, missed = compared(text, place, answer, cut)
    said = text[:end] + answer
    # Plainly: the words of the whole of what was said, each where it is in the text.
    given_spans, expected = spans(said), 0
    for span in places[place:]:
        same = said[: span[1]] == text[: span[1]] and span in given_spans
        if not same or (cut and span[1] == len(said)):
            break
        expected += 1
    assert correct == expected
    if missed:
        nearest = places[place + correct]
        longer = words(said + "a") if cut else words(said)
        assert said[: nearest[1]] != text[: nearest[1]] or nearest not in given_spans, longer
    elif place + correct < len(places):
        assert cut and text.startswith(said)


class ByHeart:
    """A client whose model knows a text by heart, one token a byte."""

    def __init__(self, text, strip=False, begin=""):
        self.text, self.strip, self.asked = text, strip, 0
        self.endpoint = Endpoint("http://127.0.0.1:1", "m", "text", begin)

    def ask(self, request):
        self.asked += 1
        at = len(request["prompt"].removeprefix(self.endpoint.begin or "").encode())
        following = self.text.encode()[at : at + request["max_tokens"]]
        said = following.decode("utf-8", "replace")
        if self.strip and said[:1] == " ":
            said = said[1:]
        ends = at + request["max_tokens"] > len(self.text.encode())
        return {"text": said, "finish_reason": "stop" if ends else "length"}

    def map(self, work, items):
        return [work(item) for item in items]


@pytest.mark.parametrize(
    "text", ["日本語の文章です漢字漢字です", "наша Маша громко плачет", "a🙂b 👩‍👧 c"]
)
def test_a_continuation_may_break_off_within_a_character(text):
    client = ByHeart(text)
    assert TabModel(client).hits(text, spans(text)).all()


@pytest.mark.parametrize("begin", ["", "<s>"])
def test_windows_of_long_documents(begin):
    text = " ".join(f"w{n}" for n in range(300))

    class Windowed(ByHeart):
        def ask(self, request):
            prompt = request["prompt"]
            assert prompt.startswith(begin) and len(prompt.split()) <= 40
            whole = text[: text.index(prompt.removeprefix(begin)) + len(prompt.removeprefix(begin))]
            return super().ask(request | {"prompt": begin + whole})

    client = Windowed(text, begin=begin)
    client.endpoint = Endpoint("http://127.0.0.1:1", "m", "text", begin, prompt_words=40)
    assert TabModel(client).hits(text, spans(text)).all()
    assert client.asked < 40


@pytest.mark.parametrize(
    "text", ["the cat sat on the mat and there " * 3, "one two\nthree four five six seven " * 9]
)
def test_stripped_spaces_are_noticed_in_short_texts_and_beside_new_lines(text):
    docs = documents([text])
    with pytest.raises(LeakscopeError, match="strips the white space"):
        TabModel(ByHeart(text, strip=True)).score(docs, top_k=1)
