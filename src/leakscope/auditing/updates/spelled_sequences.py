"""Sequences that a search found, told in words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from leakscope.corpus.words import words
from leakscope.models.interface import Prefix
from leakscope.models.subword.causal_model import CausalModel
from leakscope.models.word.word_model import WordModel
from leakscope.records.documents import LongArray

AT_ONCE = 256
"""Texts that are read at a time to see whether their last word goes on."""


class Spelled(NamedTuple):
    """One sequence."""

    words: list[str]
    entries: list[str]
    unfinished: bool
    """Whether the last word would go on."""

    def counted(self, *, lowercase: bool) -> list[str]:
        """The words as a corpus has them, without an unfinished one."""
        whole = self.words[:-1] if self.unfinished else self.words
        return [word.lower() for word in whole] if lowercase else whole


def spell(model: WordModel | CausalModel, entries: LongArray, prefix: Prefix) -> list[Spelled]:
    """Sequences of entries [m, n] that stand behind `prefix`, which is not spelled again."""
    if isinstance(model, WordModel):
        found = [[model.vocabulary[entry] for entry in row] for row in entries.tolist()]
        return [Spelled(said, said, unfinished=False) for said in found]
    return _spell_tokens(model, entries, prefix)


def _spell_tokens(model: CausalModel, entries: LongArray, prefix: Prefix) -> list[Spelled]:
    """An unfinished word is one that the model's own next token would make longer."""
    tokenizer = model.tokenizer.tokenizer
    options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
    before = model.tokenizer.ids(" ".join(prefix))
    ids = model.entries.ids[entries]
    nexts = []
    for start in range(0, len(ids), AT_ONCE):
        after = model.begin_tokens(
            [[*before, *row] for row in ids[start : start + AT_ONCE].tolist()]
        )
        nexts.append(after.top(1)[0][:, 0])
    following = np.concatenate(nexts) if nexts else np.zeros(0, np.int64)
    found = []
    for row, tokens, then in zip(entries.tolist(), ids.tolist(), following.tolist(), strict=True):
        text = tokenizer.decode(tokens, **options)
        said = words(text)
        goes_on = then < model.entries.words
        longer = tokenizer.decode([*tokens, int(model.entries.ids[then])], **options)
        unfinished = goes_on and bool(said) and words(longer)[: len(said)] != said
        found.append(Spelled(said, [model.entries.spelled[entry] for entry in row], unfinished))
    return found


def entries_of_words(
    model: WordModel | CausalModel, sequences: Sequence[Sequence[str]], prefix: Prefix
) -> list[list[int] | None]:
    """The entries that sequences of words are made of behind `prefix`; None where the model does
    not know a word, or would cut the prefix differently before it.
    """
    if isinstance(model, WordModel):
        known = model.numbers
        return [_all([known.get(word) for word in said]) for said in sequences]
    place = {int(id): entry for entry, id in enumerate(model.entries.ids[: model.entries.words])}
    before = model.tokenizer.ids(" ".join(prefix))
    found = []
    for said in sequences:
        whole = model.tokenizer.ids(" ".join([*prefix, *said]))
        more = whole[len(before) :]
        fits = bool(more) and whole[: len(before)] == before
        found.append(_all([place.get(id) for id in more]) if fits else None)
    return found


def _all(entries: Sequence[int | None]) -> list[int] | None:
    """The entries, if there are all of them."""
    known = [entry for entry in entries if entry is not None]
    return known if len(known) == len(entries) else None
