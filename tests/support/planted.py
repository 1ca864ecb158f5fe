"""A small text of a few users, and canaries in it."""

import json

import numpy as np

WORDS = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)]


def data_rows(users=8, documents=12, words=WORDS, seed=0):
    """(user, text) rows of many users in turns, of words with falling frequencies."""
    rng = np.random.default_rng(seed)
    chances = 1 / (3 + np.arange(len(words)))
    chances /= chances.sum()
    return [
        (f"u{index % users}", " ".join(rng.choice(words, rng.integers(3, 9), p=chances)))
        for index in range(users * documents)
    ]


def write_jsonl(path, rows, **more):
    lines = [json.dumps({"user": u, "text": t, **more}) for u, t in rows]
    path.write_text("\n".join(lines) + "\n")
    return path
