"""An endpoint that gives nothing but continuations, as a `LanguageModel`: the tab attack.

Ask for the most probable continuation of what stands before a word and compare it with what
follows. Up to the first miss every word is correct; go on behind the miss. That is one request a
miss, one more where a continuation is right to its end, and a few where it says a longer word that
begins with the right one: "mommy" for "mom" is correct if it is two tokens, as it is in any other
report. It says which words are correct, not how probable they are: log-probabilities are NaN.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from leakscope.corpus.lexicon import Lexicon
from leakscope.corpus.words import spans
from leakscope.models.alignment import Span
from leakscope.models.document_texts import texts_of
from leakscope.models.interface import Continuations, Distribution, NextWords, Prefix
from leakscope.models.remote.client import Client, RefusedError
from leakscope.models.remote.endpoint_words import first_word, prompt_of, word_in
from leakscope.models.remote.prompt_windows import before
from leakscope.records.documents import BoolArray, Documents, FloatArray, IntArray, Scores
from leakscope.records.errors import LeakscopeError

TOKENS = 16
"""Asked for at first; twice as many each time that a continuation is right to its end."""
MOST_TOKENS = 256
ENOUGH, FEW = 20, 5
"""Continuations without the space that was due after which the server is taken to strip them: in
the middle of the work if hardly any has one, at its end if none has."""


class _SpaceWatch:
    """Whether continuations begin with the space that follows a word."""

    def __init__(self) -> None:
        self._lock, self._without, self._with = Lock(), 0, 0

    def watch(self, expected: str, answer: str) -> None:
        """See one continuation of a prompt that ends with a word."""
        if expected != " " or not answer:
            return
        with self._lock:
            self._with += answer[0] == " "
            self._without += answer[0].isalnum()
        self.check(ENOUGH)

    def check(self, enough: int) -> None:
        """Raise if so many continuations lack their space, and hardly any has it."""
        if self._without >= enough and self._with < 0.05 * self._without:
            raise LeakscopeError(
                "The endpoint strips the white space from the beginning of its continuations, so "
                "that they cannot be compared with the text; ask it for log-probabilities instead."
            )


@dataclass(frozen=True)
class TabModel:
    """A `LanguageModel` behind an endpoint in mode `text`; k is 1."""

    needs_text: ClassVar[bool] = True

    client: Client
    spelling: Sequence[str] | None = None
    """The words by lexicon id, for documents without texts."""
    _spaces: _SpaceWatch = field(default_factory=_SpaceWatch, repr=False)

    def reading(self, lexicon: Lexicon) -> "TabModel":
        """This model, reading documents without texts as the lexicon's words and single spaces."""
        return replace(self, spelling=lexicon.words)

    def score(self, documents: Documents, *, top_k: int, every_probability: bool = False) -> Scores:
        """See `LanguageModel.score`; ranks are 0 or 1, log-probabilities always NaN."""
        if top_k != 1:
            raise LeakscopeError("A text-only endpoint shows its best continuation: top-k is 1.")
        texts, places = texts_of(documents, self.spelling)
        parts = self.client.map(lambda pair: self.hits(*pair), zip(texts, places, strict=True))
        self._spaces.check(FEW)
        hit = np.concatenate([np.zeros(0, np.bool_), *parts])
        unknown = np.full(len(hit), np.nan, np.float32)
        return Scores((~hit).astype(np.int32), unknown, unknown, np.zeros(len(hit), np.bool_))

    def log_probs(self, documents: Documents, wanted: BoolArray) -> FloatArray:
        """Refused: it tells no probabilities."""
        raise LeakscopeError("A text-only endpoint tells no probabilities.")

    def knows(self, ids: IntArray) -> BoolArray | None:
        """See `LanguageModel.knows`: an endpoint does not tell."""
        return None

    def next(self, prefix: Prefix) -> Distribution:
        """Refused: it tells no probabilities."""
        raise LeakscopeError("A text-only endpoint tells no probabilities.")

    def begin(self, prefixes: Sequence[Prefix]) -> Continuations:
        """Refused: it tells no probabilities."""
        raise LeakscopeError("A text-only endpoint tells no probabilities.")

    def hidden_states(self, documents: Documents) -> None:
        """See `LanguageModel.hidden_states`: an endpoint does not show them."""
        return

    def next_words(self, prefixes: Sequence[Prefix], count: int) -> list[NextWords]:
        """See `LanguageModel.next_words`: the first whole word of the best continuation, without
        log-probabilities. None where it makes the last word longer, or says no whole word.
        """
        if count != 1:
            raise LeakscopeError("A text-only endpoint shows its best continuation: one next word.")
        texts = [prompt_of(prefix, self.client.endpoint) for prefix in prefixes]
        found = self.client.map(self._next_word, texts)
        self._spaces.check(FEW)
        return list(found)

    def _next_word(self, text: str) -> NextWords:
        words, tokens, tail = spans(text), TOKENS, None
        while tail is None and tokens <= MOST_TOKENS:
            answer = self._continue(text, words, len(words), tokens)
            if words and tokens == TOKENS:
                self._spaces.watch(" ", answer["text"])
            cut = answer.get("finish_reason") != "stop"
            tail = first_word(text, answer["text"], cut=cut)
            tokens = 2 * tokens if cut else MOST_TOKENS + 1
        tails = [] if tail is None else [tail]
        unknown = np.full(len(tails), np.nan, np.float32)
        return NextWords([word_in(each) for each in tails], tails, unknown, unknown, exact=False)

    def hits(self, text: str, words: Sequence[Span]) -> BoolArray:
        """[w] whether each word of a text is in the continuation of what stands before it."""
        found = np.zeros(len(words), np.bool_)
        place = 0 if self.client.endpoint.begin is not None else 1
        tokens = TOKENS
        while place < len(words):
            answer = self._continue(text, words, place, tokens)
            said, end = answer["text"], words[place - 1][1] if place else 0
            if place:
                self._spaces.watch(text[end : end + 1], said)
            cut = answer.get("finish_reason") != "stop"
            correct, missed = compare(text, words, place, said, cut=cut)
            enough = 4 * (words[place][1] - end) + 1  # tokens: more than bytes of the next word
            if missed and self._begins_longer(text, words, place + correct, said, end):
                correct, missed, tokens = correct + 1, False, TOKENS // 2
            elif not correct and not missed and tokens >= enough:
                missed = True  # the endpoint says no more
            found[place : place + correct] = True
            place += correct + missed
            tokens = TOKENS if missed else min(2 * tokens, max(MOST_TOKENS, enough))
        return found

    def _begins_longer(
        self, text: str, words: Sequence[Span], index: int, said: str, end: int
    ) -> bool:
        """Whether word `index` is said as the beginning of a longer one, but is a whole number of
        tokens by itself. `end`: of what was continued.
        """
        begin, stop = words[index - 1][1] if index else 0, words[index][1]
        if not said.startswith(text[end:stop]):
            return False
        wanted = text[begin:stop]
        for tokens in range(1, 4 * len(wanted) + 1):
            first = self._continue(text, words, index, tokens)["text"]
            if first == wanted or not wanted.startswith(first):
                return bool(first == wanted)
        return False

    def _continue(
        self, text: str, words: Sequence[Span], index: int, tokens: int
    ) -> dict[str, Any]:
        """How the endpoint goes on after what stands before word `index`."""
        endpoint = self.client.endpoint
        prompt = (endpoint.begin or "") + before(text, words, index, endpoint.prompt_words)
        request = {"prompt": prompt, "max_tokens": tokens, "temperature": 0}
        try:
            answer = self.client.ask(request)
        except RefusedError:
            if tokens <= MOST_TOKENS:
                raise
            return {"text": "", "finish_reason": "stop"}  # more than it can say
        if answer.get("finish_reason") != "stop":
            # Broken off within a character, which is then not whole.
            return answer | {"text": answer["text"].rstrip("\ufffd")}
        return answer


def compare(
    text: str, words: Sequence[Span], place: int, answer: str, *, cut: bool
) -> tuple[int, bool]:
    """(how many words from `place` on an answer to what stands before them gets right; whether
    the word behind those is surely missed). `cut`: the answer might have gone on, so that of its
    last word nothing is known but that it begins as it does.
    """
    begin, end = words[place - 1] if place else (0, 0)
    said = text[begin:end] + answer  # the answer may be glued to the word before it
    ends = {begin + low: begin + high for low, high in spans(said)}
    seen = 0
    for correct, (low, high) in enumerate(words[place:]):
        if said[seen : high - begin] != text[begin + seen : high]:
            # Said otherwise, or not to its end: a miss, unless the answer broke off on its way.
            return correct, not (cut and text.startswith(said[seen:], begin + seen))
        if ends.get(low) != high:
            return correct, True  # the word goes on otherwise
        seen = high - begin
        if seen == len(said) and cut:
            return correct, False
    return len(words) - place, False
