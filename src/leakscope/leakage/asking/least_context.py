"""How little of its context brings a unique sequence out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from leakscope.leakage.asking.asked_model import AskedModel, joined
from leakscope.leakage.asking.sequences_in_context import SpelledSequences, TriedPrompt
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import digest_of
from leakscope.records.documents import BoolArray, Documents, IntArray
from leakscope.records.ragged import offsets_of

PROMPTS = 20_000  # scored at a time
SEQUENCES, SLOW_SEQUENCES = 1000, 50
"""Sequences that are tried together; fewer for models that may take minutes for them."""
STAGE = "least-context"


def comes_out(model: LanguageModel, prompts: Sequence[TriedPrompt], top_k: int) -> BoolArray:
    """[n] whether the model predicts every word of the sequence after the context."""
    found = np.zeros(len(prompts), np.bool_)
    for low in range(0, len(prompts), PROMPTS):
        part = prompts[low : low + PROMPTS]
        documents = Documents.of([(0, ids) for ids, _, _ in part])
        texts = [text for _, _, text in part if text is not None]
        if len(texts) == len(part):
            documents = replace(documents, texts=texts)
        missed = model.score(documents, top_k=top_k).rank >= top_k
        misses = offsets_of(missed)
        ends = documents.offsets[1:]
        sizes = np.array([size for _, size, _ in part])
        found[low : low + len(part)] = misses[ends] == misses[ends - sizes]
    return found


@dataclass(frozen=True)
class LeastContexts:
    """The least context of each of s sequences."""

    words: IntArray
    """[s] words of the shortest suffix of a context after which the whole sequence comes out; 0:
    it needs no context; -1: not measured."""
    exact: BoolArray
    """[s] every shorter suffix of every context was tried; otherwise it is an upper bound."""


@dataclass(frozen=True)
class LeastContextAsked:
    """The least context of some sequences, of at most `most` words."""

    unique: SpelledSequences
    top_k: int
    most: int
    schema: ClassVar[pa.Schema] = pa.schema([("words", pa.int32()), ("exact", pa.bool_())])

    @property
    def rows(self) -> int:
        """A sequence each."""
        return len(self.unique)

    def digest(self) -> str:
        """See `Question`."""
        return digest_of([self.unique.digest(), self.top_k, self.most])

    def answer(self, model: LanguageModel) -> pa.RecordBatch:
        """See `Question`."""
        found = least_contexts(model, self.unique, self.top_k, self.most)
        return pa.record_batch([pa.array(found.words), pa.array(found.exact)], schema=self.schema)


def least_contexts(
    model: LanguageModel, unique: SpelledSequences, top_k: int, most: int
) -> LeastContexts:
    """Try suffixes of 0, 1, 2, ... words, at most `most`, of every listed context, until the
    sequence comes out. At the full length of the shortest context it does: that was measured.
    """
    size = len(unique)
    starts = [[start for start, _ in unique.examples(i)] for i in range(size)]
    limit = np.array([min(each) for each in starts], np.int32)
    words, exact = limit.copy(), (limit <= most) & unique.all_listed
    due = list(range(size))
    for length in range(most + 1):
        due = [i for i in due if limit[i] > length]
        asked: dict[TriedPrompt, list[int]] = {}
        for i in due:
            for prompt in unique.suffixes(i, length):
                asked.setdefault(prompt, []).append(i)
        if not asked:
            break
        out = comes_out(model, list(asked), top_k)
        done = {i for hit, who in zip(out, asked.values(), strict=True) if hit for i in who}
        for i in done:
            words[i], exact[i] = length, unique.all_listed[i] or length == 0
        due = [i for i in due if i not in done]
    return LeastContexts(words.astype(np.int32), exact)


def ask_least_contexts(
    model: AskedModel, unique: SpelledSequences, top_k: int, most: int
) -> LeastContexts:
    """The least contexts, of some sequences at a time."""
    step = SLOW_SEQUENCES if model.reads_text else SEQUENCES
    parts = [unique.part(low, min(low + step, len(unique))) for low in range(0, len(unique), step)]
    answers = model.ask(STAGE, [LeastContextAsked(part, top_k, most) for part in parts])
    return LeastContexts(joined(answers, "words", np.int32), joined(answers, "exact", np.bool_))
