"""Get to know an endpoint before it is trusted, and again from time to time: does it still serve
the model that it served, and do the log-probabilities that it tells belong to the tokens that it
names?
"""

import threading
from collections.abc import Callable
from statistics import median
from typing import Any

from leakscope.models.remote.client import Client
from leakscope.models.remote.prompt_log_probs import EchoModel
from leakscope.models.remote.tab_attack import TabModel
from leakscope.records.artifacts import digest_of
from leakscope.records.errors import LeakscopeError

PROMPT = "The first thing that we saw in the morning was the"
TOKENS = 16
SHARE = 0.75
"""Of the tokens that it says as the most probable ones, an endpoint must rank so many first: all,
but for near ties."""
APART = 0.1
"""Largest difference of a log-probability between two sittings with one model."""
CHANGED = {"changed": True}
"""Noted of answers of which some came from another model."""


def remote_model(client: Client) -> EchoModel | TabModel:
    """The model behind the client's endpoint, checked by one request, which is made anew each
    time, and from then on by the client.
    """
    model = TabModel(client) if client.endpoint.mode == "text" else EchoModel(client)
    facts = _facts(model)
    name = _name(client)
    known = client.answers.fact(name)
    if known is None:
        client.answers.note(name, facts)
    elif known == CHANGED or not _alike(known, facts):
        raise LeakscopeError(
            f"The endpoint {client.endpoint.url} does not serve the model that the kept answers "
            f"came from; start afresh in another --out (and another --answers)."
        )
    client.watch = _Watch(client, model, known or facts)
    return model


class _Watch:
    """Sees whether the model is still the one that it was, and gave the answers that were kept."""

    def __init__(self, client: Client, model: EchoModel | TabModel, known: dict[str, Any]) -> None:
        self._client, self._model, self._known = client, model, known
        self._lock = threading.Lock()
        self._seen = self._differing = 0

    def __call__(self, request: dict[str, Any] | None, kept: dict[str, Any] | None) -> None:
        """Ask our own prompt again; and the last request, if its answer had been kept."""
        same = _alike(self._known, _facts(self._model))
        if same and request is not None and kept is not None:
            differs = not _same_answer(kept, self._client.fresh(request))
            with self._lock:
                self._seen += 1
                self._differing += differs
                # One may differ by a near tie, since servers compute in several precisions.
                same = self._differing < 2 or 2 * self._differing <= self._seen
        if not same:
            self._client.answers.note(_name(self._client), CHANGED)
            raise LeakscopeError(
                f"The endpoint {self._client.endpoint.url} has changed its model while it was "
                f"asked; start afresh in another --out (and another --answers)."
            )


def _facts(model: EchoModel | TabModel) -> dict[str, Any]:
    """What the endpoint makes of our own prompt, asked now; raise if its figures are misplaced."""
    client = model.client
    begin = client.endpoint.begin or ""
    if isinstance(model, TabModel):
        request = {"prompt": begin + PROMPT, "max_tokens": TOKENS, "temperature": 0}
        return {"said": client.fresh(request)["text"]}

    def fresh(request: dict[str, Any], check: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        return client.fresh(request)

    told, said = model.read(fresh, begin, PROMPT, 1, TOKENS)
    first = sum(each.rank == 0 or each.near for each in said)
    if first < SHARE * len(said):
        raise LeakscopeError(
            "The endpoint's log-probabilities do not belong to its tokens: it does not rank first "
            "what it says first (some servers misplace them for models without a begin mark, some "
            "penalize repetition); name the mark by --begin-mark, or give --text-only."
        )
    return {"log_probs": [each.log_prob for each in told if each.log_prob is not None]}


def _name(client: Client) -> str:
    """Under what the facts of an endpoint are noted."""
    asked = client.endpoint.record()
    return digest_of([asked[part] for part in ("url", "model", "mode", "begin", "extra")])


def _alike(known: dict[str, Any], facts: dict[str, Any]) -> bool:
    """Whether two sittings were with one model."""
    before, now = known.get("log_probs", []), facts.get("log_probs", [])
    same = known.get("said") == facts.get("said") and len(before) == len(now)
    return same and all(abs(a - b) <= APART for a, b in zip(before, now, strict=True))


def _same_answer(kept: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether two answers to one request are of one model, by their text or log-probabilities."""
    before, after = _logs(kept), _logs(now)
    if before is None or after is None:
        return bool(kept.get("text") == now.get("text"))
    apart = [abs(a - b) for a, b in zip(before, after, strict=False)]
    # The last token is a continuation, which may be another one at a near tie.
    return abs(len(before) - len(after)) <= 1 and (not apart or median(apart) <= APART)


def _logs(answer: dict[str, Any]) -> list[float] | None:
    """The log-probabilities of an answer's tokens, if it has any."""
    said = answer.get("logprobs")
    found = said.get("token_logprobs") if isinstance(said, dict) else None
    if not isinstance(found, list):
        return None
    return [float(value) for value in found if isinstance(value, int | float)]
