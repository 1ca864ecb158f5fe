"""One small model of every kind and behind every wrapper, with texts that it predicts in part."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from leakscope.corpus.words import words
from leakscope.models.remote.answer_cache import Answers
from leakscope.models.remote.client import Client
from leakscope.models.remote.endpoint import Endpoint, RequestLimits
from leakscope.models.remote.handshake import remote_model
from leakscope.models.subword.causal_model import causal_model
from leakscope.models.subword.loading import load_causal
from leakscope.models.wrappers.blocked import BlockedModel
from leakscope.models.wrappers.by_user import ByUser
from leakscope.models.wrappers.hardened import HardenedModel
from leakscope.records.block_lists.block_list import BlockList
from leakscope.records.documents import Documents
from saved_causal import saved, saved_adapter, write_gguf
from served import KEY, Served, serving
from small_models import SMALL, repeated_by, sharp_model
from tiny_causal import documents, fluent, network, spoken, tokenizer

VOCABULARY = [f"w{number}" for number in range(9)]
LEXICON = [*VOCABULARY, "w9", "w10"]
"""The last two are unknown to word-level models."""
THRESHOLD = 3.0
BLOCKED = [["w1"], ["w2", "w3"], ["w4", "w5"], ["w0", "w6", "w7"], ["w9", "w8"]]


@dataclass(frozen=True)
class Subject:
    """A model that must keep the contract."""

    model: Any
    unit: str
    """What its entries are: word, token, or none where it names no distribution."""
    texts: list[str]
    plain: Any = None
    """The model beneath a wrapper, or itself."""
    pool: list[str] = field(default_factory=list)
    """What may be said next, at least: for the search of next words."""
    sure: bool = True
    """Whether it tells log-probabilities."""
    top_ks: tuple[int, ...] = (1, 3)

    def documents(self, texts: list[str] | None = None) -> Documents:
        """Texts as this model reads them, of two users in turn."""
        texts = self.texts if texts is None else texts
        if self.model.needs_text:
            packed = documents(texts)
        else:
            packed = Documents.of([(0, [LEXICON.index(word) for word in words(t)]) for t in texts])
        return replace(packed, users=(np.arange(len(texts)) * 2 // max(len(texts), 1)).astype("i4"))

    def prefixes(self) -> list[list[str]]:
        """Beginnings of the texts, of many lengths."""
        said = [words(text) for text in self.texts]
        found = [each[: 1 + 3 * index % len(each)] for index, each in enumerate(said)]
        return [list(prefix) for prefix in dict.fromkeys(map(tuple, [*found, *said]))]


def word_level(kind: str, _: Path) -> Subject:
    model = sharp_model(kind, VOCABULARY, seed=1)
    texts = [text for _, text in repeated_by(model, 2, 6, 13)]
    texts += ["w9 w0 w10 w1 w1 w2", "w3"]
    return Subject(model, "word", texts, model, VOCABULARY)


def speaking(kind: str, tokens: str, **shape: int) -> tuple[Any, Any, list[str]]:
    tok = tokenizer(tokens)
    net = fluent(network(kind, len(tok), seed=3, **shape), tok)
    said = [" ".join(words(text)) for text in spoken(net, tok, documents=16, length=20, seed=5)]
    return net, tok, [text for text in dict.fromkeys(said) if len(words(text)) > 2][:6]


def token_level(model: Any, texts: list[str]) -> Subject:
    named = model.entries.spelled[: model.entries.words]
    return Subject(model, "token", texts, model, [name for name in named if name.isprintable()])


def huggingface(kind: str, tokens: str, **shape: int) -> Callable[[Path], Subject]:
    def make(_: Path) -> Subject:
        net, tok, texts = speaking(kind, tokens, **shape)
        return token_level(causal_model(net, tok), texts)

    return make


def capped(_: Path) -> Subject:
    """A network whose logits are not those of its output layer."""
    net, tok, texts = speaking("llama", "pieces")
    net.lm_head.register_forward_hook(lambda module, given, logits: 9 * (logits / 9).tanh())
    return token_level(causal_model(net, tok), texts)


def adapter(folder: Path) -> Subject:
    path, _, _ = saved_adapter(folder)
    return token_level(load_causal(path), speaking("llama", "pieces")[2])


def gguf(folder: Path) -> Subject:
    net, tok = saved(folder / "model", tokens="bytes", seed=3)
    write_gguf(folder / "model.gguf", net, tok)
    return token_level(load_causal(folder / "model.gguf"), speaking("llama", "bytes")[2])


def hardened(make: Callable[[Path], Subject]) -> Callable[[Path], Subject]:
    def wrap(folder: Path) -> Subject:
        beneath = make(folder)
        return replace(beneath, model=HardenedModel(beneath.model, THRESHOLD))

    return wrap


def blocked(kind: str) -> Callable[[Path], Subject]:
    def make(folder: Path) -> Subject:
        beneath = word_level(kind, folder)
        listed = BlockList.build(BLOCKED, 1e-12, salt=bytes(16), lowercase=False)
        return replace(beneath, model=BlockedModel(beneath.model, listed, LEXICON))

    return make


def by_user(folder: Path) -> Subject:
    beneath = word_level("gru", folder)
    models = [beneath.model, sharp_model("gru", VOCABULARY, seed=2)]
    return replace(beneath, model=ByUser(models, lambda users: users % 2), unit="none", plain=None)


KINDS: dict[str, Callable[[Path], Subject]] = {
    **{kind: (lambda folder, kind=kind: word_level(kind, folder)) for kind in SMALL},
    "gpt2": huggingface("gpt2", "bytes"),
    "llama": huggingface("llama", "pieces", context=24),
    "unmarked": huggingface("gpt2", "wordpiece"),
    "capped": capped,
    "adapter": adapter,
    "gguf": gguf,
    "hardened lstm": hardened(lambda folder: word_level("lstm", folder)),
    "hardened gpt2": hardened(huggingface("gpt2", "bytes")),
    "hardened blocked": hardened(blocked("gru")),
    "blocked gru": blocked("gru"),
    "blocked transformer": blocked("transformer"),
    "by user": by_user,
}
SERVED = ("served", "served text")


@contextmanager
def served_subject(name: str, folder: Path) -> Iterator[Subject]:
    """A model behind an endpoint, while it is served."""
    net, tok, texts = speaking("llama", "bytes", context=512)
    mode = "text" if name.endswith("text") else "log-probs"
    limits = RequestLimits(key=KEY, pause=0.01, attempts=2)
    with serving(Served(net, tok)) as url:
        client = Client(Endpoint(url, "tiny", mode=mode), limits, Answers(folder / "answers"))
        try:
            yield Subject(
                remote_model(client), "none", texts, sure=mode != "text",
                top_ks=(1,) if mode == "text" else (1, 3),
            )  # fmt: skip
        finally:
            client.close()
