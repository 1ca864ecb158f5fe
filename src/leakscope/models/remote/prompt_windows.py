"""Texts of documents as prompts: cut into windows of words where they are long."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from leakscope.models.alignment import Span
from leakscope.models.ranking.windows import first_input, windows


@dataclass(frozen=True)
class PromptWindow:
    """A window of a document's text."""

    document: int
    text: str
    words: tuple[Span, ...]
    """Of all words in `text`, by their place in it."""
    start: int
    """Words before this are context: another window answers for them."""


def prompts(document: int, text: str, words: Sequence[Span], most: int) -> Iterator[PromptWindow]:
    """Cut a text so that every word is answered for once, after as many words as fit."""
    for _, first, start, stop in windows(document, len(words), most):
        begin = 0 if first == 0 else words[first][0]
        end = len(text) if stop == len(words) else words[stop - 1][1]
        inside = tuple((low - begin, high - begin) for low, high in words[first:stop])
        yield PromptWindow(document, text[begin:end], inside, start - first)


def before(text: str, words: Sequence[Span], index: int, most: int) -> str:
    """What stands before word `index`, up to the end of the word before it, so that a space is
    left for the model to say; of a long document its last words.
    """
    first = first_input(index, most)
    begin = 0 if first == 0 else words[first][0]
    end = words[index - 1][1] if index else 0
    return text[begin:end]
