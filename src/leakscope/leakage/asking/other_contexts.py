"""Leakage outside the training contexts: the same words after prefixes nobody wrote there."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from leakscope.leakage.asking.asked_model import AskedModel
from leakscope.leakage.asking.least_context import PROMPTS, comes_out
from leakscope.leakage.asking.sequences_in_context import SpelledSequences, TriedPrompt
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import digest_of
from leakscope.records.documents import BoolArray, Documents, IntArray
from leakscope.records.runs.run_metrics import OTHER_CONTEXTS

COMMON = 500
"""Words of a reworded context are replaced by one of so many most frequent ones."""
PREFIXES = 2_000
"""Other users' prefixes that are kept to draw from."""
PREFIX_WORDS = 64
DRAWS = 20
"""Tries to find a prefix of another user: enough unless nearly all are the owner's."""
SLOW_PROMPTS = 1_000
"""Prompts that a model is asked at a time which may take minutes for more."""
STAGE = "other-contexts"


@dataclass(frozen=True)
class OtherContexts:
    """What came out of how many tries."""

    tried: IntArray
    """[u]"""
    out: IntArray
    """[u]"""
    by_kind: dict[str, dict[str, int]]
    """Tries and successes of each kind, in all."""


@dataclass(frozen=True)
class PromptsAsked:
    """Which of some prompts bring their sequence out."""

    prompts: tuple[TriedPrompt, ...]
    top_k: int
    schema: ClassVar[pa.Schema] = pa.schema([("out", pa.bool_())])

    @property
    def rows(self) -> int:
        """A prompt each."""
        return len(self.prompts)

    def digest(self) -> str:
        """See `Question`."""
        return digest_of([self.prompts, self.top_k])

    def answer(self, model: LanguageModel) -> pa.RecordBatch:
        """See `Question`."""
        found = comes_out(model, self.prompts, self.top_k)
        return pa.record_batch([pa.array(found)], schema=self.schema)


def _out(model: AskedModel, prompts: list[TriedPrompt], top_k: int) -> BoolArray:
    """[n] whether they bring their sequences out."""
    step = SLOW_PROMPTS if model.reads_text else PROMPTS
    asked = [
        PromptsAsked(tuple(prompts[low : low + step]), top_k)
        for low in range(0, len(prompts), step)
    ]
    answers = model.ask(STAGE, asked)
    return np.concatenate(
        [np.zeros(0, np.bool_), *(answer["out"].to_numpy() for answer in answers)]
    )


def try_other_contexts(
    model: AskedModel,
    unique: SpelledSequences,
    corpus: Iterable[Documents],
    *,
    top_k: int,
    budget: int,
    words: int,
    seed: int = 0,
) -> OtherContexts:
    """Spend `budget` prompts evenly over the sequences and the kinds: `truncated`, a random part
    of the context's end; `reworded`, one word in four replaced by a common one or left out;
    `others`, as many words from the beginning of another user's document. `words` is the size of
    the lexicon.
    """
    rng = np.random.default_rng([seed, 4])
    size = len(unique)
    each = -(-budget // max(1, size * len(OTHER_CONTEXTS)))
    others = _prefixes(corpus, rng)
    prompts: list[TriedPrompt] = []
    labels: list[tuple[int, str]] = []
    for i in rng.permutation(size).tolist():
        listed = unique.examples(i)
        for kind in OTHER_CONTEXTS:
            for _ in range(each):
                if len(prompts) == budget:
                    break
                context = listed[int(rng.integers(len(listed)))][1]
                made = _changed(kind, context, int(unique.owners[i]), others, words, rng)
                if made is not None:
                    words_of = unique.words(i)
                    prompts.append((made + words_of, len(words_of), None))
                    labels.append((i, kind))
    hits = _out(model, prompts, top_k)
    tried, out = np.zeros((2, size), np.int32)
    by_kind = {kind: {"tried": 0, "out": 0} for kind in OTHER_CONTEXTS}
    for (i, kind), hit in zip(labels, hits.tolist(), strict=True):
        tried[i] += 1
        out[i] += hit
        by_kind[kind]["tried"] += 1
        by_kind[kind]["out"] += int(hit)
    return OtherContexts(tried, out, by_kind)


def _changed(
    kind: str,
    context: tuple[int, ...],
    owner: int,
    others: list[tuple[int, tuple[int, ...]]],
    words: int,
    rng: np.random.Generator,
) -> tuple[int, ...] | None:
    """Another context of this kind, or None where the context is too short to make one."""
    if kind == "truncated":
        return context[int(rng.integers(1, len(context) + 1)) :] if context else None
    if kind == "reworded":
        if not context:
            return None
        draws = rng.random(len(context))
        draws[int(rng.integers(len(context)))] = 0.0  # at least one word changes
        common = rng.integers(0, min(COMMON, words), len(context)).tolist()
        keep = zip(context, draws.tolist(), common, strict=True)
        changed = (
            (word if d >= 0.25 else new if new != word else (new + 1) % max(words, 2), d)
            for word, d, new in keep
        )
        return tuple(word for word, d in changed if d >= 0.25 or d < 0.125)
    if not others or not context:
        return None
    for _ in range(DRAWS):
        user, prefix = others[int(rng.integers(len(others)))]
        if user != owner:
            return prefix[: len(context)]
    return None


def _prefixes(
    corpus: Iterable[Documents], rng: np.random.Generator
) -> list[tuple[int, tuple[int, ...]]]:
    """(user, first words) of documents drawn evenly from the corpus."""
    kept: list[tuple[int, tuple[int, ...]]] = []
    seen = 0
    for documents in corpus:
        # Reservoir sampling: document number n stays with a chance of PREFIXES / n.
        draws = rng.integers(0, seen + 1 + np.arange(len(documents)))
        early = np.arange(seen, seen + len(documents)) < PREFIXES
        for index in np.flatnonzero(early | (draws < PREFIXES)).tolist():
            prefix = tuple(documents.words_of(index)[:PREFIX_WORDS].tolist())
            if early[index]:
                kept.append((int(documents.users[index]), prefix))
            else:
                kept[int(draws[index])] = int(documents.users[index]), prefix
        seen += len(documents)
    return kept
