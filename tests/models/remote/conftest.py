"""A tiny model, the texts that it predicts in good part, and a server that serves it."""

from dataclasses import dataclass

import pytest

from leakscope.corpus.words import spans
from leakscope.models.remote.answer_cache import Answers
from leakscope.models.remote.client import Client
from leakscope.models.remote.endpoint import Endpoint, RequestLimits
from leakscope.models.subword.causal_model import causal_model
from served import KEY, Served
from tiny_causal import fluent, network, spoken, tokenizer

KINDS = {"bytes": "gpt2", "pieces": "llama"}


@dataclass(frozen=True)
class Known:
    """A model in memory, to compare its served self with."""

    network: object
    tokenizer: object
    texts: list[str]

    @property
    def local(self):
        return causal_model(self.network, self.tokenizer)

    def served(self, **changes) -> Served:
        return Served(self.network, self.tokenizer, **changes)


@pytest.fixture(scope="session", params=KINDS)
def known(request) -> Known:
    return made(request.param)


@pytest.fixture(scope="session")
def plain() -> Known:
    return made("bytes")


def made(kind) -> Known:
    tok = tokenizer(kind)
    net = fluent(network(KINDS[kind], len(tok), seed=3, context=512), tok)
    texts = [text for text in spoken(net, tok, documents=40, length=24, seed=5) if spans(text)]
    odd = ["naïve café — 日本 the cat", "the cat\n\nsat on  the mat, don't", "наша Маша the dog."]
    return Known(net, tok, [*texts, *odd, texts[0]])


@pytest.fixture
def connect(tmp_path):
    """Opens clients, their answers kept in one place unless told otherwise."""
    opened = []

    def make(url, mode="log-probs", folder="answers", key=KEY, **changes):
        names = ("begin", "prompt_words", "model", "extra")
        asked = {"model": "tiny"} | {name: changes.pop(name) for name in names if name in changes}
        limits = RequestLimits(key=key, **({"pause": 0.01, "attempts": 4} | changes))
        client = Client(Endpoint(url, mode=mode, **asked), limits, Answers(tmp_path / folder))
        opened.append(client)
        return client

    yield make
    for client in opened:
        client.close()
