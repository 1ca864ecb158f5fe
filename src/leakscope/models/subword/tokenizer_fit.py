"""What a tokenizer must be before words can be read in its tokens: it gives tokens for text, gives
the text back, and is the one that the model was trained with. Otherwise no word would ever be
correct, and the report would look clean.
"""

import unicodedata
from typing import Any

from leakscope.models.subword.word_tokens import WordTokenizer
from leakscope.records.errors import LeakscopeError

SCRIPTS = (
    "the of and you that was with have this from meet call night 1 2 3 4 5 6 7 8 9 0",
    "der und über une être los señor и не это мы και το את של في من",
    "है में ไทย 的 我 人 日本 です 이 우리",
)
PROBES = tuple(word for line in SCRIPTS for word in line.split())
"""Words of many scripts: a tokenizer need not know all of them."""
ENOUGH = 0.5
"""The share of known probes that must come back, and of the model's rows that must have a token:
matrices are only rounded up."""


def check_tokenizer(tokenizer: Any, network: Any) -> None:
    """Refuse a tokenizer that cannot tell words of this network apart."""
    if not getattr(tokenizer, "is_fast", False):
        raise LeakscopeError(
            "This model's tokenizer does not say where its tokens are in the text; save it as a "
            "fast tokenizer (tokenizer.json)."
        )
    words = WordTokenizer(tokenizer)
    encoded = {probe: words.plain_ids(probe) for probe in PROBES}
    known = {probe: ids for probe, ids in encoded.items() if _is_known(words, ids)}
    if not known:
        raise LeakscopeError(
            "The tokenizer gives no tokens for text; save the model's own tokenizer beside it "
            "(tokenizer.json)."
        )
    returned = sum(_letters(_decoded(tokenizer, ids)) == _letters(p) for p, ids in known.items())
    if returned < ENOUGH * len(known):
        raise LeakscopeError(
            "The tokenizer does not give back the letters of the text that it read (case, accents "
            "and spaces aside), so its words cannot be told apart; give the tokenizer that the "
            "model was trained with."
        )
    _check_rows(words, network)


def _check_rows(words: WordTokenizer, network: Any) -> None:
    """Every token of text has a row in the network's matrices, and most rows have a token."""
    layers = (network.get_input_embeddings(), network.get_output_embeddings())
    rows = min(layer.weight.shape[0] for layer in layers if layer is not None)
    marks = set(words.special.tolist())  # a padding mark is often added behind the matrix's end
    ids = {int(id) for id in words.tokenizer.get_vocab().values()}
    beyond = any(id >= rows for id in ids - marks)
    if beyond or (words.start is not None and words.start >= rows):
        raise LeakscopeError(
            f"The tokenizer has tokens beyond the {rows:,} that the model knows; give the "
            "tokenizer that the model was trained with."
        )
    if len(ids) < ENOUGH * rows:
        raise LeakscopeError(
            f"The tokenizer has {len(ids):,} tokens and the model knows {rows:,}; give the "
            "tokenizer that the model was trained with."
        )


def _is_known(words: WordTokenizer, ids: list[int]) -> bool:
    """Whether these are tokens of text, none of them for unknown characters."""
    return bool(ids) and words.unknown not in ids and not set(words.special.tolist()) & set(ids)


def _decoded(tokenizer: Any, ids: list[int]) -> str:
    return str(tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False))


def _letters(text: str) -> str:
    """The letters and digits alone, without case and accents: alignment needs the spans of words,
    not how a tokenizer normalizes them.
    """
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in plain if letter.isalnum())
