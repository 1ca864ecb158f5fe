"""An endpoint that tells the log-probabilities of a prompt, as a `LanguageModel`.

Its tokens are aligned with words by how it spells them. It tells the few most probable tokens at
each place, so that the rank of the prompt's own token is known where it is below k.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from leakscope.corpus.lexicon import Lexicon
from leakscope.models.alignment import Span, align
from leakscope.models.document_texts import texts_of
from leakscope.models.interface import Distribution
from leakscope.models.remote.client import Client, RefusedError
from leakscope.models.remote.prompt_windows import PromptWindow, prompts
from leakscope.models.remote.spelled_tokens import is_unspelled, locate
from leakscope.records.documents import BoolArray, Documents, FloatArray, IntArray, Scores
from leakscope.records.errors import LeakscopeError

NEAR = 1e-3
"""Log-probabilities closer than this are near ties: servers compute in several precisions."""

ROUNDING = 1e-4
"""How far above 0 a log-probability may be by rounding."""

Ask = Callable[[dict[str, Any], Callable[[dict[str, Any]], None]], dict[str, Any]]
"""From a request, and a check of its answer, to the answer."""


class Told(NamedTuple):
    """What an endpoint tells of one token of a prompt."""

    span: Span
    """Its place in the prompt."""
    log_prob: float | None
    """None: it does not tell, as of a first token."""
    rank: int
    """How many tokens it names that are more probable."""
    top: float
    """The log-probability of the most probable token."""
    near: bool
    """Whether rank < k hangs on less than NEAR, or on tokens that are spelled alike."""


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

    def next(self, prefix: Sequence[str]) -> Distribution:
        """Not to be had: an endpoint names a few tokens, not all."""
        raise LeakscopeError("An endpoint does not tell the probabilities of all next words.")

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

    def tell(self, begin: str, text: str, top_k: int) -> list[Told]:
        """What the endpoint tells of the tokens of a text behind a mark."""
        # One token is asked for, and left aside: some servers take 0 for "any number".
        return self.read(self.client.ask, begin, text, top_k, 1)[0]

    def read(
        self,
        ask: Ask,
        begin: str,
        text: str,
        top_k: int,
        more: int,
    ) -> tuple[list[Told], list[Told]]:
        """What the endpoint tells of a text's tokens, and of `more` that it says after them."""
        request = {
            "prompt": begin + text,
            "max_tokens": more,
            "temperature": 0,
            "echo": True,
            "logprobs": top_k + 1,
        }
        found: list[tuple[list[Told], list[Told]]] = []

        def check(choice: dict[str, Any]) -> None:
            told = told_of(choice, begin, text, top_k, more)
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


class _Said(BaseModel):
    """`logprobs` as the OpenAI API has it."""

    model_config = ConfigDict(strict=True)

    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None]


def told_of(
    choice: dict[str, Any], begin: str, text: str, top_k: int, more: int = 1
) -> tuple[list[Told], list[Told]] | None:
    """Read the `logprobs` of a completion that echoes its prompt: of the text's tokens, and of at
    most `more` behind it, which have no place; None if they are not there.
    """
    try:
        said = _Said.model_validate(choice.get("logprobs"))
    except ValidationError:
        return None
    tokens, own, top = said.tokens, said.token_logprobs, said.top_logprobs
    if not tokens or not len(tokens) == len(own) == len(top):
        return None
    _check_values(own, top)
    if "\u2581" not in text:  # some servers give SentencePiece's own spelling of a space
        tokens = [token.replace("\u2581", " ") for token in tokens]
        top = [entries and _respelled(entries) for entries in top]
    # The mark may be echoed as it stands in the prompt, or be left out; a server may also put
    # one of its own before the prompt, and nothing is told of that.
    for lead in (begin, "", *([tokens[0]] if own[0] is None else [])):
        spans = locate(tokens, lead + text)
        if spans is None:
            continue
        count, shift = len(spans), len(lead)
        inside = [
            _told((max(low, shift) - shift, high - shift), tokens[at], own[at], top[at], top_k)
            for at, (low, high) in enumerate(spans)
            if high > shift or low >= shift
        ]
        end = (len(text), len(text))
        behind = [
            _told(end, tokens[at], own[at], top[at], top_k) for at in range(count, len(tokens))
        ]
        return inside, behind
    if len(tokens) <= more:
        return None  # what was asked for, and nothing of the prompt
    raise LeakscopeError(
        "The endpoint's tokens do not spell the prompt, so that they cannot be told apart by "
        "words; give --text-only."
    )


def _check_values(own: Sequence[float | None], top: Sequence[dict[str, float] | None]) -> None:
    """Raise if a value is not the logarithm of a probability, as far as rounding allows."""
    values = [value for value in own if value is not None]
    values += [value for entries in top if entries for value in entries.values()]
    if not all(-math.inf < value <= ROUNDING for value in values):
        raise LeakscopeError(
            "The endpoint tells log-probabilities above 0 or not finite, which no probability has; "
            "update its server, or give --text-only."
        )


def _respelled(entries: dict[str, float]) -> dict[str, float]:
    return {name.replace("\u2581", " "): value for name, value in entries.items()}


def _told(
    span: Span, token: str, own: float | None, entries: dict[str, float] | None, top_k: int
) -> Told:
    if own is None or entries is None:
        return Told(span, None, top_k, 0.0, False)
    others = sorted((value for name, value in entries.items() if name != token), reverse=True)
    rank = sum(value > own for value in others)
    top = max(own, *others[:1]) if others else own
    if len(others) < top_k:  # k + 1 were asked for
        if not any(is_unspelled(name) for name in (token, *entries)):
            raise LeakscopeError(
                "The endpoint names fewer tokens than the top k and one more, so that ranks are "
                "not known; lower --top-k, or give --text-only."
            )
        return Told(span, own, min(rank, top_k), top, True)  # some are spelled alike
    # The k-th best of the others decides: below it the token is out, above it is in.
    near = abs(own - others[top_k - 1]) < NEAR
    return Told(span, own, min(rank, top_k), top, near)


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
