"""Which words an endpoint would say next, from the continuations that it gives."""

from collections.abc import Sequence

from leakscope.corpus.words import spans
from leakscope.models.interface import Prefix
from leakscope.models.remote.endpoint import Endpoint
from leakscope.models.remote.prompt_windows import before
from leakscope.records.errors import LeakscopeError


def prompt_of(prefix: Prefix, endpoint: Endpoint) -> str:
    """The words of a prefix joined by single spaces; of a long one its last words."""
    if not prefix and endpoint.begin is None:
        raise LeakscopeError(
            "An endpoint does not say how a document begins; give at least one word, or name its "
            "begin mark by --begin-mark."
        )
    text = " ".join(prefix)
    places = spans(text)
    return before(text, places, len(places), endpoint.prompt_words)


def first_word(text: str, said: str, *, cut: bool) -> str | None:
    """What is `said` behind a text of words, up to the end of the first word that it adds; None if
    it makes the text's last word longer, or if its own first word is not surely whole. `cut`: it
    might have gone on.
    """
    places = spans(text)
    last = text[places[-1][0] :] if places else ""
    found = spans(last + said)
    if places and (not found or found[0] != (0, len(last))):
        return None
    new = found[len(places[-1:]) :]
    if not new:
        return None
    end = new[0][1] - len(last)
    # An apostrophe at the end may yet join the word to what follows.
    return None if cut and end + 1 >= len(said) else said[:end]


def word_in(tail: str) -> str:
    """The word of what `first_word` gives."""
    return tail.lstrip()


def distinct(tails: Sequence[str | None]) -> list[str]:
    """The continuations that are there, each word once."""
    known: dict[str, str] = {}
    for tail in tails:
        if tail is not None:
            known.setdefault(word_in(tail), tail)
    return list(known.values())
