"""What an endpoint tells of the tokens of a prompt that it echoes."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from leakscope.models.alignment import Span
from leakscope.models.remote.spelled_tokens import is_unspelled, locate
from leakscope.records.errors import LeakscopeError

NEAR = 1e-3
"""Log-probabilities closer than this are near ties: servers compute in several precisions."""
ROUNDING = 1e-4
"""How far above 0 a log-probability may be by rounding."""


class TokenAnswer(NamedTuple):
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
    token: str
    """How it is spelled."""
    entries: dict[str, float]
    """The most probable tokens, by how they are spelled."""


class _EchoedTokens(BaseModel):
    """`logprobs` as the OpenAI API has it."""

    model_config = ConfigDict(strict=True)

    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None]


def answers_of(
    choice: dict[str, Any], begin: str, text: str, top_k: int, more: int = 1
) -> tuple[list[TokenAnswer], list[TokenAnswer]] | None:
    """Read the `logprobs` of a completion that echoes its prompt: of the text's tokens, and of at
    most `more` behind it, which have no place; None if they are not there.
    """
    try:
        said = _EchoedTokens.model_validate(choice.get("logprobs"))
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
            _answer((max(low, shift) - shift, high - shift), tokens[at], own[at], top[at], top_k)
            for at, (low, high) in enumerate(spans)
            if high > shift or low >= shift
        ]
        end = (len(text), len(text))
        behind = [
            _answer(end, tokens[at], own[at], top[at], top_k) for at in range(count, len(tokens))
        ]
        return inside, behind
    if len(tokens) <= more:
        return None  # what was asked for, and nothing of the prompt
    raise LeakscopeError(
        "The endpoint's tokens do not spell the prompt, so that they cannot be assigned to its "
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


def _answer(
    span: Span, token: str, own: float | None, entries: dict[str, float] | None, top_k: int
) -> TokenAnswer:
    if own is None or entries is None:
        return TokenAnswer(span, None, top_k, 0.0, False, token, {})
    others = sorted((value for name, value in entries.items() if name != token), reverse=True)
    rank = sum(value > own for value in others)
    top = max(own, *others[:1]) if others else own
    if len(others) < top_k:  # k + 1 were asked for
        if not any(is_unspelled(name) for name in (token, *entries)):
            raise LeakscopeError(
                "The endpoint names fewer tokens than the top k and one more, so that ranks are "
                "not known; lower --top-k, or give --text-only."
            )
        return TokenAnswer(
            span, own, min(rank, top_k), top, True, token, entries
        )  # some are spelled alike
    # The k-th best of the others decides: below it the token is out, above it is in.
    near = abs(own - others[top_k - 1]) < NEAR
    return TokenAnswer(span, own, min(rank, top_k), top, near, token, entries)
