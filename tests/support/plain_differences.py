"""Differential scores in the plainest way: every word asked for, every sequence listed."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from leakscope.updates.score_rule import ScoreRule


def seen(model, prefix: Sequence[str], top_k: int | None) -> dict[str, float]:
    """What an attacker sees after a prefix."""
    after = model.next(prefix)
    probabilities = np.exp(after.log_probs.astype(np.float64))
    order = after.order(len(after.entries))[:top_k]
    return {after.entries[entry]: float(probabilities[entry]) for entry in order
            if entry < after.words}  # fmt: skip


def plain_score(old, new, words: Sequence[str], rule: ScoreRule, prefix=()) -> float:
    total = 0.0
    for place, word in enumerate(words):
        before = [*prefix, *words[:place]]
        mine = seen(old, before, rule.top_k).get(word, 0.0)
        theirs = seen(new, before, rule.top_k).get(word, 0.0)
        rise = theirs - mine
        total += rise / max(mine, rule.floor) if rule.relative else rise
    return total


def brute_force(old, new, length: int, rule: ScoreRule, prefix=()) -> dict[tuple[str, ...], float]:
    """The score of every sequence of a length, over the newer model's words."""
    after = new.next(())
    words = after.entries[: after.words]
    return {
        said: plain_score(old, new, said, rule, prefix) for said in product(words, repeat=length)
    }
