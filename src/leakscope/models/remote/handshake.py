"""Get to know an endpoint before it is trusted: does it still serve the model that it served, and
do the log-probabilities that it tells belong to the tokens that it names?
"""

from collections.abc import Callable
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


def remote_model(client: Client) -> EchoModel | TabModel:
    """The model behind the client's endpoint, checked by one request, which is made anew each
    time.
    """
    begin = client.endpoint.begin or ""
    if client.endpoint.mode == "text":
        request = {"prompt": begin + PROMPT, "max_tokens": TOKENS, "temperature": 0}
        _recognize(client, {"said": client.fresh(request)["text"]})
        return TabModel(client)
    model = EchoModel(client)

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
    logs = [each.log_prob for each in told if each.log_prob is not None]
    _recognize(client, {"log_probs": logs})
    return model


def _recognize(client: Client, facts: dict[str, Any]) -> None:
    """Compare with what the kept answers came from, or note it for the next time."""
    asked = client.endpoint.record()
    name = digest_of([asked[part] for part in ("url", "model", "mode", "begin", "extra")])
    known = client.answers.fact(name)
    if known is None:
        client.answers.note(name, facts)
        return
    before, now = known.get("log_probs", []), facts.get("log_probs", [])
    same = known.get("said") == facts.get("said") and len(before) == len(now)
    if not same or any(abs(a - b) > APART for a, b in zip(before, now, strict=True)):
        raise LeakscopeError(
            f"The endpoint {client.endpoint.url} does not serve the model that the kept answers "
            f"came from; start afresh in another --out (and another --answers)."
        )
