"""A tiny GPT-2 that learns texts by heart, in seconds."""

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from leakscope.corpus.readers.rows import Row
from tiny_causal import tokenizer

WORDS = [
    "the", "cat", "sat", "on", "mat", "dog", "call", "me", "before", "nine", "office", "at",
    "instead", "she", "sells", "sea", "shells", "by", "shore", "and", "are", "in", "end", "of",
    "day", "road",
]  # fmt: skip


def random_rows(documents: int, length: int = 12, users: int = 8, seed: int = 0) -> list[Row]:
    """Documents of words drawn at random, which nobody predicts who has not read them; every fourth
    one is held out, as the rows say.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(WORDS), size=(documents, length))
    return [
        Row(
            f"u{index % users}",
            " ".join(WORDS[word] for word in words),
            split="test" if index % 4 == 3 else "train",
        )
        for index, words in enumerate(drawn)
    ]


def memorizing(texts: list[str], steps: int = 250):
    """A network that knows these texts by heart, and its tokenizer; of none: one at random."""
    torch.manual_seed(0)
    tok = tokenizer("bytes")
    config = GPT2Config(
        vocab_size=len(tok), n_embd=64, n_layer=2, n_head=4, n_positions=64,
        bos_token_id=0, eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    net = GPT2LMHeadModel(config)
    if not texts:
        return net.eval(), tok
    found = [[0, *tok(text, add_special_tokens=False)["input_ids"]] for text in texts]
    width = max(map(len, found))
    ids = torch.tensor([row + [0] * (width - len(row)) for row in found])
    seen = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in found])
    labels = ids.masked_fill(seen == 0, -100)
    optimizer = torch.optim.Adam(net.parameters(), 3e-3)
    for _ in range(steps):
        loss = net(input_ids=ids, attention_mask=seen, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < 0.25:
            break
    return net.eval(), tok
