"""How the entries of a sub-word vocabulary are spelled for people."""

from dataclasses import dataclass

import numpy as np

from leakscope.models.tokens import WordTokenizer
from leakscope.records.documents import LongArray


@dataclass(frozen=True)
class Entries:
    """All v entries of a model, special tokens last, so that they can be told apart."""

    spelled: list[str]
    """[v] as each reads in a text, its leading space included."""
    ids: LongArray
    """[v] their token ids."""
    words: int
    """Entries below this index are text; the others are marks, or rows that nothing names."""


def entries_of(tokenizer: WordTokenizer, vocabulary: int) -> Entries:
    """The entries of a model with so many rows in its output layer."""
    ids, known = np.arange(vocabulary), len(tokenizer.tokenizer)
    marks = np.isin(ids, tokenizer.special) | (ids >= known)  # rows may only round the matrix up
    if tokenizer.unknown is not None:
        marks |= ids == tokenizer.unknown
    order = np.concatenate([ids[~marks], ids[marks]])
    named = order[order < known].tolist()
    raw = tokenizer.tokenizer.convert_ids_to_tokens(named)
    said = tokenizer.tokenizer.batch_decode(
        [[id] for id in named], skip_special_tokens=False, clean_up_tokenization_spaces=False
    )
    spelled = {id: _spelling(one, other) for id, one, other in zip(named, raw, said, strict=True)}
    return Entries(
        [spelled.get(id, f"<unused {id}>") for id in order.tolist()], order, int((~marks).sum())
    )


def _spelling(raw: str | None, said: str) -> str:
    """Decoders drop the space with which SentencePiece's tokens begin."""
    lost = raw is not None and raw.startswith("▁") and not said.startswith(" ")
    return " " + said if lost else said
