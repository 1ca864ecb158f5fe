"""A model whose every answer is written down: for examples that are worked out on paper."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from leakscope.corpus.lexicon import Lexicon
from leakscope.models.interface import Distribution, LanguageModel, NextWords
from leakscope.models.word.carried_words import best_words
from leakscope.records.documents import Documents, Scores


@dataclass(frozen=True)
class ScriptedModel:
    """Probabilities of the next word by prefix; what they leave is shared by the other words. At
    a prefix that is not written down the model says `<unk>`.
    """

    lexicon: Lexicon
    script: Mapping[tuple[str, ...], Mapping[str, float]]

    needs_text = False

    def reading(self, lexicon: Lexicon) -> "ScriptedModel":
        return replace(self, lexicon=lexicon)

    def knows(self, ids: np.ndarray) -> None:
        return None

    def next(self, prefix: Sequence[str]) -> Distribution:
        told = self.script.get(tuple(prefix), {})
        rest = (1 - sum(told.values())) / len(self.lexicon)
        others = 1e-9 if not told else rest
        values = [told.get(word, others) for word in self.lexicon.words]
        entries = [*self.lexicon.words, "<unk>"]
        return Distribution(
            entries, len(self.lexicon), np.log(np.array([*values, 1 - sum(values)]))
        )

    def begin(self, prefixes: Sequence[Sequence[str]]) -> "RereadPrefixes":
        return RereadPrefixes(self, [tuple(prefix) for prefix in prefixes])

    def next_words(self, prefixes: Sequence[Sequence[str]], count: int) -> list[NextWords]:
        return best_words(self.begin, prefixes, count)

    def hidden_states(self, documents: Documents) -> None:
        return None

    def log_probs(self, documents: Documents, wanted: np.ndarray) -> np.ndarray:
        return self.score(documents, top_k=1, every_probability=True).log_prob[wanted]

    def score(self, documents: Documents, *, top_k: int, every_probability: bool = False) -> Scores:
        ranks, logs, tops = [], [], []
        for index in range(len(documents)):
            words = self.lexicon.spell(documents.words_of(index))
            for place, word in enumerate(words):
                distribution = self.next(words[:place])
                order = distribution.order(len(distribution.entries))
                entry = distribution.entries.index(word)
                rank = order.index(entry)
                ranks.append(min(rank, top_k))
                hit = rank < top_k or every_probability
                logs.append(distribution.log_probs[entry] if hit else math.nan)
                tops.append(distribution.log_probs[order[0]] if hit else math.nan)
        return Scores(
            np.array(ranks, np.int32),
            np.array(logs, np.float32),
            np.array(tops, np.float32),
            np.zeros(len(ranks), np.bool_),
        )


@dataclass(frozen=True)
class RereadPrefixes:
    """Continuations in the plainest way: every prefix is asked for again by `next`."""

    model: LanguageModel
    prefixes: list[tuple[str, ...]]

    @property
    def entries(self) -> Sequence[str]:
        return self.model.next(()).entries

    @property
    def words(self) -> int:
        return self.model.next(()).words

    def __len__(self) -> int:
        return len(self.prefixes)

    def log_probs(self, rows: np.ndarray | None = None) -> np.ndarray:
        chosen = range(len(self)) if rows is None else rows.tolist()
        found = [self.model.next(self.prefixes[row]).log_probs for row in chosen]
        return np.array(found).reshape(len(found), len(self.entries))

    def top(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        logs = self.log_probs()
        best = np.argsort(-logs, axis=1, kind="stable")[:, :count]
        return best, np.take_along_axis(logs, best, 1)

    def silent(self) -> np.ndarray:
        return np.array([self.model.next(prefix).silent for prefix in self.prefixes], np.bool_)

    def extended(self, rows: np.ndarray, entries: np.ndarray) -> "RereadPrefixes":
        pairs = zip(rows.tolist(), entries.tolist(), strict=True)
        longer = [(*self.prefixes[row], self.entries[entry]) for row, entry in pairs]
        return RereadPrefixes(self.model, longer)
