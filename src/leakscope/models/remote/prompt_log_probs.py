"""An endpoint that tells the log-probabilities of a prompt, as a `LanguageModel`.

Its tokens are aligned with words by how it spells them. It tells the few most probable tokens at
each place, so that the rank of the prompt's own token is known where it is below k.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from leakscope.corpus.lexicon import Lexicon
from leakscope.corpus.words import spans
from leakscope.models.alignment import align
from leakscope.models.document_texts import texts_of
from leakscope.models.interface import Continuations, Distribution, NextWords, Prefix
from leakscope.models.remote.client import Client, RefusedError
from leakscope.models.remote.echoed_prompt import TokenAnswer, answers_of
from leakscope.models.remote.endpoint_words import distinct, first_word, prompt_of, word_in
from leakscope.models.remote.prompt_windows import PromptWindow, prompts
from leakscope.models.remote.spelled_tokens import is_unspelled
from leakscope.records.documents import BoolArray, Documents, FloatArray, IntArray, Scores
from leakscope.records.errors import LeakscopeError

Ask = Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], dict[str, Any]]
"""From a request, and a check of its answer, to the answer."""
WORD_TOKENS = 8
"""Tokens asked for to complete a word: hardly a word has more."""


@dataclass(frozen=True)
class EchoModel:
    """A `LanguageModel` behind an endpoint in mode `log-probs`."""

    needs_text: ClassVar[bool] = True

    client: Client
    spelling: Sequence[str] | None = None
    """The words by lexicon id, for documents without texts."""

    def reading(self, lexicon: Lexicon) -> "EchoModel":
        """This model, reading documents without texts as the lexicon's words and single spaces."""
        return replace(self, spelling=lexicon.words)

    def score(self, documents: Documents, *, top_k: int, every_probability: bool = False) -> Scores:
        """See `LanguageModel.score`; one request for each document, or window of a long one."""
        texts, places = texts_of(documents, self.spelling)
        most = self.client.endpoint.prompt_words
        due = [
            prompt
            for index, (text, words) in enumerate(zip(texts, places, strict=True))
            for prompt in prompts(index, text, words, most)
        ]
        parts = self.client.map(lambda prompt: self._window(prompt, top_k, every_probability), due)
        return _joined(parts)

    def log_probs(self, documents: Documents, wanted: BoolArray) -> FloatArray:
        """See `LanguageModel.log_probs`."""
        return self.score(documents, top_k=1, every_probability=True).log_prob[wanted]

    def knows(self, ids: IntArray) -> BoolArray | None:
        """See `LanguageModel.knows`: an endpoint does not tell."""
        return None

    def next(self, prefix: Prefix) -> Distribution:
        """Refused: an endpoint names a few tokens, not all."""
        raise LeakscopeError("An endpoint does not tell the probabilities of all next words.")

    def begin(self, prefixes: Sequence[Prefix]) -> Continuations:
        """Refused, as `next` is."""
        raise LeakscopeError("An endpoint does not tell the probabilities of all next words.")

    def hidden_states(self, documents: Documents) -> None:
        """See `LanguageModel.hidden_states`: an endpoint does not show them."""
        return

    def next_words(self, prefixes: Sequence[Prefix], count: int) -> list[NextWords]:
        """See `LanguageModel.next_words`: the `count` tokens that the endpoint names first, each
        completed to a word by what it says then; never known to be exact. Up to two requests for
        each word.
        """
        texts = [prompt_of(prefix, self.client.endpoint) for prefix in prefixes]
        return list(self.client.map(lambda text: self._next_words(text, count), texts))

    def _next_words(self, text: str, count: int) -> NextWords:
        _, behind = self._ask(text, count, 1)
        # Where the endpoint would end the text it names nothing.
        entries = behind[0].entries if behind else {}
        named = sorted(entries.items(), key=lambda pair: (-pair[1], pair[0]))[:count]
        tails = []
        for token, _ in named:
            if not is_unspelled(token):
                _, more = self._ask(text + token, 1, WORD_TOKENS)
                said = token + "".join(each.token for each in more)
                tails.append(first_word(text, said, cut=len(more) == WORD_TOKENS))
        found = []
        for tail in distinct(tails):
            words = tuple(spans(text + tail))
            prompt = PromptWindow(0, text + tail, words, len(words) - 1)
            scores = self._window(prompt, 1, every=True)
            found.append((-float(scores.log_prob[0]), tail, float(scores.top_log_prob[0])))
        found.sort()
        return NextWords(
            [word_in(tail) for _, tail, _ in found],
            [tail for _, tail, _ in found],
            np.array([-surprise for surprise, _, _ in found], np.float32),
            np.array([top for _, _, top in found], np.float32),
            exact=False,
        )

    def _window(self, prompt: PromptWindow, top_k: int, every: bool) -> Scores:
        """The scores of the words that a window answers for."""
        inside = self.tell(self.client.endpoint.begin or "", prompt.text, top_k)
        spans = [each.span for each in inside]
        part = align(prompt.words, spans, np.zeros(len(spans), np.bool_))
        untold = np.array([each.log_prob is None for each in inside], np.bool_)
        never = part.any_of(untold) | ~part.any_of(np.ones(len(inside), np.bool_))
        ranks = np.array([each.rank for each in inside], np.int32)
        near = np.array([each.near for each in inside], np.bool_)
        wrong = never | part.any_of((ranks >= top_k) & ~near)
        rank = np.where(never, top_k, np.minimum(part.worst_of(ranks), top_k)).astype(np.int32)
        logs = np.array([each.log_prob or 0.0 for each in inside], np.float32)
        tops = np.array([each.top for each in inside], np.float32)
        known = np.ones(len(rank), np.bool_) if every else rank < top_k
        mine = slice(prompt.start, None)
        return Scores(
            rank[mine],
            np.where(known, part.sums_of(logs), np.nan).astype(np.float32)[mine],
            np.where(known, part.sums_of(tops), np.nan).astype(np.float32)[mine],
            (part.any_of(near) & ~wrong)[mine],
        )

    def tell(self, begin: str, text: str, top_k: int) -> list[TokenAnswer]:
        """What the endpoint tells of the tokens of a text behind a mark."""
        # One token is asked for, and left aside: some servers take 0 for "any number".
        return self.read(self.client.ask, begin, text, top_k, 1)[0]

    def _ask(self, text: str, top_k: int, more: int) -> tuple[list[TokenAnswer], list[TokenAnswer]]:
        return self.read(self.client.ask, self.client.endpoint.begin or "", text, top_k, more)

    def read(
        self,
        ask: Ask,
        begin: str,
        text: str,
        top_k: int,
        more: int,
    ) -> tuple[list[TokenAnswer], list[TokenAnswer]]:
        """What the endpoint tells of a text's tokens, and of `more` that it says after them."""
        request = {
            "prompt": begin + text,
            "max_tokens": more,
            "temperature": 0,
            "echo": True,
            "logprobs": top_k + 1,
        }
        found: list[tuple[list[TokenAnswer], list[TokenAnswer]]] = []

        def check(choice: dict[str, Any]) -> None:
            told = answers_of(choice, begin, text, top_k, more)
            if told is None:
                raise LeakscopeError(
                    f"The endpoint {self.client.endpoint.url} returns no log-probabilities of the "
                    f"prompt; give --text-only to attack it by its continuations."
                )
            found.append(told)

        try:
            answer = ask(request, check)
        except RefusedError as refused:
            raise LeakscopeError(
                f"{str(refused).removesuffix('.')}, or --text-only if it does not tell the "
                f"log-probabilities of a prompt."
            ) from None
        if not found:  # it was kept, or asked for by another thread
            check(answer)
        return found[0]


def _joined(parts: Sequence[Scores]) -> Scores:
    none = Scores(
        np.zeros(0, np.int32),
        np.zeros(0, np.float32),
        np.zeros(0, np.float32),
        np.zeros(0, np.bool_),
    )
    every = [none, *parts]
    return Scores(
        np.concatenate([part.rank for part in every]),
        np.concatenate([part.log_prob for part in every]),
        np.concatenate([part.top_log_prob for part in every]),
        np.concatenate([part.near_tie for part in every]),
    )
