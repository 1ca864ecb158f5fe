"""Documents as text, for models with a tokenizer of their own."""

from collections.abc import Sequence

from leakscope.corpus.words import spans
from leakscope.models.alignment import Span
from leakscope.records.documents import Documents
from leakscope.records.errors import LeakscopeError


def texts_of(
    documents: Documents, spelling: Sequence[str] | None
) -> tuple[list[str], list[list[Span]]]:
    """The documents' texts, and the spans of their words. Documents without texts are spelled by
    `spelling` (words by lexicon id), with single spaces.
    """
    if documents.texts is not None:
        texts = list(documents.texts)
        places = [spans(text) for text in texts]
        if [len(found) for found in places] != documents.lengths().tolist():
            raise LeakscopeError(
                "The corpus's texts do not have the words that it counts; build it again."
            )
        return texts, places
    if spelling is None:
        raise LeakscopeError("This model reads texts; give it documents that carry them.")
    said = [
        [spelling[id] for id in documents.words_of(index).tolist()]
        for index in range(len(documents))
    ]
    return [" ".join(words) for words in said], [_joined(words) for words in said]


def _joined(words: Sequence[str]) -> list[Span]:
    """The spans of words joined by single spaces."""
    found, place = [], 0
    for word in words:
        found.append((place, place + len(word)))
        place += len(word) + 1
    return found
