"""What of a continuation is its first whole word."""

import pytest

from leakscope.models.remote.endpoint import Endpoint
from leakscope.models.remote.endpoint_words import first_word, prompt_of
from leakscope.records.errors import LeakscopeError


@pytest.mark.parametrize(
    ("text", "said", "cut", "word"),
    [
        ("the cat", " sat on", True, " sat"),
        ("the cat", " sat", True, None),  # "sat" may go on
        ("the cat", " sat", False, " sat"),
        ("the cat", "s sat on", True, None),  # it makes the last word longer
        ("the cat", ", and so", True, ","),
        ("the cat", "\n\n sat on", True, "\n\n sat"),
        ("I", " don't know", True, " don't"),
        ("I", " don'", True, None),  # "don't", perhaps
        ("I", " don", False, " don"),
        ("the cat", "  ", False, None),
        ("the cat", "", False, None),
        ("", "The cat", True, "The"),
        ("日", "本語の", True, "本"),
    ],
)
def test_first_words(text, said, cut, word):
    assert first_word(text, said, cut=cut) == word


def test_a_prompt_is_the_last_words_of_a_prefix():
    endpoint = Endpoint("http://127.0.0.1:1/v1", "m", prompt_words=4)
    assert prompt_of(["a", "b", "c"], endpoint) == "a b c"
    assert prompt_of(["a", "b", "c", "d", "e"], endpoint) == "c d e"
    with pytest.raises(LeakscopeError, match="at least one word"):
        prompt_of([], endpoint)
    assert prompt_of([], Endpoint("http://127.0.0.1:1/v1", "m", begin="<s>")) == ""
