"""Which planted secrets a run's sequences show, and how well orders of sequences find them."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.secrets import Planted
from leakscope.commands.demo import SECRETS
from leakscope.corpus.store import Corpus
from leakscope.records.artifacts import read_parquet
from leakscope.records.unique import extremeness
from leakscope.reporting.opened_run import Run
from leakscope.reporting.rows.listing import gravity

Floats = npt.NDArray[np.float64]


class Truth:
    """What was planted, and which of it is in the training part."""

    def __init__(self, truth: Path, corpus: Corpus) -> None:
        self._shows = Planted(truth)
        words = corpus.lexicon.words
        documents = corpus.load()
        text = "\n".join(
            _joined([words[number] for number in documents.words_of(index)])
            for index in range(len(documents))
        )
        items = read_parquet(truth).to_pylist()
        secrets = [_joined(item["words"]) for item in items if item["kind"] in SECRETS]
        self._secrets = [secret for secret in secrets if secret in text]

    def found(self, run: Run, ratios: dict[tuple[str, ...], float]) -> dict[str, Any]:
        """How many secrets of the training part unique sequences hold as a whole, by which of the
        sequences are looked at; and how well orders tell sequences that show a part of a planted
        sentence from others. `ratios` are to the public model.
        """
        names = ["id", "sequence", "users_in_d", "length", "q_value", "pii", "least_context"]
        rows = read_parquet(run.path / "sequences.parquet", names).to_pylist()
        rows = [row for row in rows if row["users_in_d"] == 1]
        q = np.array([row["q_value"] for row in rows], np.float64)
        lengths = np.array([row["length"] for row in rows], np.int64)
        ratio = np.array([ratios[tuple(row["sequence"])] for row in rows], np.float64)
        shows = np.array([self._shows(row["sequence"]) for row in rows], np.bool_)
        texts = [_joined(row["sequence"]) for row in rows]
        lists = {
            "any": np.ones(len(rows), np.bool_), "q": q <= 0.05, "ratio": ratio >= 10,
            "length": lengths >= 5,
        }  # fmt: skip
        held = {
            name: [
                sum(any(secret in text for text in some) for secret in self._secrets),
                int(kept.sum()),
                int((kept & shows).sum()),
            ]
            for name, kept in lists.items()
            for some in [[text for text, keep in zip(texts, kept, strict=True) if keep]]
        }
        orders = {
            "ratio": ratio, "length": lengths.astype(np.float64),
            "both": extremeness(lengths, ratio.astype(np.float32)),
            "listed": listed([row | {"ratio": r} for row, r in zip(rows, ratio, strict=True)]),
        }  # fmt: skip
        return {
            "secrets": len(self._secrets), "held": held, "shows": int(shows.sum()),
            "areas": {name: areas(score, shows) for name, score in orders.items()},
        }  # fmt: skip


def listed(rows: list[dict[str, Any]]) -> Floats:
    """[n] scores by which unique sequences come in the order of a report's lists."""
    order = sorted(range(len(rows)), key=lambda at: gravity(rows[at], 0.05))
    return -np.argsort(order).astype(np.float64)


def _joined(words: list[str]) -> str:
    return "\0" + "\0".join(words) + "\0"


def areas(scores: Floats, good: npt.NDArray[np.bool_]) -> tuple[float, float] | None:
    """Under the curves of precision and recall, and of the receiver; equal scores are one step of
    the first and half a win of the second. None: all sequences are of one kind.
    """
    if good.all() or not good.any():
        return None
    values, place = np.unique(scores, return_inverse=True)
    right = np.bincount(place, weights=good, minlength=len(values))[::-1]
    wrong = np.bincount(place, weights=~good, minlength=len(values))[::-1]
    found, lost = np.cumsum(right), np.cumsum(wrong)
    precision = float((found / (found + lost) * right).sum() / right.sum())
    below = wrong.sum() - lost
    wins = float((right * (below + wrong / 2)).sum() / (right.sum() * wrong.sum()))
    return precision, wins
