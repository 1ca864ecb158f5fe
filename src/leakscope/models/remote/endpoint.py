"""Where a model is served, and how politely it is asked."""

import ipaddress
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from leakscope.records.errors import LeakscopeError

Mode = Literal["log-probs", "text"]
OURS = {"model", "prompt", "max_tokens", "temperature", "echo", "logprobs", "stream", "n"}
"""Fields of a request that the measurement rests on."""


def is_address(text: str) -> bool:
    """Whether a model is named by an address rather than by a path."""
    return text.lower().startswith(("http://", "https://"))


@dataclass(frozen=True)
class Endpoint:
    """All that decides what a served model answers."""

    url: str = field(metadata={"option": None})
    """What `/completions` is put behind, such as http://127.0.0.1:8000/v1."""
    model: str = field(default="default", metadata={"option": "endpoint_model"})
    """The name by which the endpoint knows the model."""
    mode: Mode = field(default="log-probs", metadata={"option": "text_only", "flag": "text"})
    """Attack the endpoint by its continuations alone, as somebody who presses Tab would: one
    request for each wrong word. Otherwise it must tell the log-probabilities of a prompt."""
    begin: str | None = field(default=None, metadata={"option": "begin_mark"})
    """What to put before each document, such as '<s>', where the server does not do so by itself.
    With --text-only, first words are asked for only if this is given; '' if the server sets the
    mark."""
    prompt_words: int = 1000
    """Words of a prompt; longer documents are read in windows of so many words that move on by
    half of it."""
    extra: dict[str, Any] = field(default_factory=dict, metadata={"option": "extra_body"})
    """More fields of every request, as JSON, such as '{"repeat_penalty": 1}' for a server that
    avoids what it has said before."""

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            said = (parts.username, parts.password, parts.query, parts.fragment)
            host = parts.hostname
        except ValueError:
            raise LeakscopeError(f"{self.url} is not an address.") from None
        if any(said):
            raise LeakscopeError(
                "The endpoint's address must hold no user, password or query; the key comes from "
                "the environment."
            )
        if parts.scheme not in ("http", "https") or not host:
            raise LeakscopeError(f"{self.url} is not an address that begins with http(s)://.")
        if not self.model:
            raise LeakscopeError("Say which of the endpoint's models by --endpoint-model.")
        if self.mode not in ("log-probs", "text"):
            raise LeakscopeError("An endpoint is asked for log-probs or for text.")
        if self.prompt_words < 2:
            raise LeakscopeError("A prompt needs room for at least 2 words.")
        if clash := sorted(set(self.extra) & OURS):
            raise LeakscopeError(f"The request's {clash[0]} is set here, not by --extra-body.")
        object.__setattr__(self, "url", self.url.rstrip("/"))

    @property
    def in_clear(self) -> bool:
        """Whether the text would go over a network unencrypted."""
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        try:
            here = ipaddress.ip_address(host).is_loopback
        except ValueError:
            here = host == "localhost"
        return parts.scheme == "http" and not here

    def record(self) -> dict[str, Any]:
        """For the run's manifest."""
        return {
            "kind": "endpoint",
            "architecture": {"kind": "endpoint"},
            "url": self.url,
            "model": self.model,
            "mode": self.mode,
            "begin": self.begin,
            "prompt_words": self.prompt_words,
            "extra": self.extra,
        }


@dataclass(frozen=True)
class RequestLimits:
    """How the endpoint is asked; nothing of it changes an answer."""

    key: str | None = field(default=None, repr=False, metadata={"option": None})
    """Sent as a bearer token; never written anywhere."""
    concurrency: int = 8
    """Requests at a time."""
    per_minute: float | None = field(default=None, metadata={"option": "requests_per_minute"})
    """Most requests a minute; by default, as many as are answered."""
    max_requests: int | None = None
    """Stop when so many requests were sent, failed ones included; the same command goes on."""
    attempts: int = 7
    """Times that a request is sent before its failure is final, with ever longer pauses."""
    pause: float = field(default=0.5, metadata={"option": None})
    """Seconds before the second attempt; doubled each time."""
    timeout: float = 120.0
    """Seconds to wait for an answer."""

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.attempts < 1:
            raise LeakscopeError("Concurrency and attempts must be at least 1.")
        if self.max_requests is not None and self.max_requests < 2:
            raise LeakscopeError("--max-requests must be at least 2: one checks who serves.")
        if self.key is not None and not (self.key.isascii() and self.key.isprintable()):
            raise LeakscopeError("The endpoint's key is not a line of ASCII characters.")
        if self.per_minute is not None and not 0 < self.per_minute < float("inf"):
            raise LeakscopeError("--requests-per-minute must be positive.")
        if not (0 < self.timeout < float("inf") and 0 <= self.pause < float("inf")):
            raise LeakscopeError("--timeout must be positive.")
