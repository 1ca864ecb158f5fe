"""How the entries of a sub-word vocabulary are spelled for people."""

from dataclasses import dataclass

import numpy as np

from leakscope.models.subword.word_tokens import WordTokenizer
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
    """Decoders drop the space with which SentencePiece's tokens begin, and cannot show a token
    that is a part of a character: its bytes are spelled out.
    """
    if raw is not None and "\ufffd" in said:
        return _bytes_spelled(raw)
    lost = raw is not None and raw.startswith("▁") and not said.startswith(" ")
    return " " + said if lost else said


def _bytes_spelled(raw: str) -> str:
    """A token of byte-level BPE with bytes such as \\xe6 where they are no character; `<0xE6>` of
    SentencePiece speaks for itself.
    """
    if not all(letter in _BYTES for letter in raw):
        return raw
    return bytes(_BYTES[letter] for letter in raw).decode("utf-8", "backslashreplace")


def _byte_letters() -> dict[str, int]:
    """The letters by which GPT-2 and its heirs write bytes: printable ones stand for themselves,
    the others are numbered from 256 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(256 + number): byte for number, byte in enumerate(others)
    }


_BYTES = _byte_letters()
