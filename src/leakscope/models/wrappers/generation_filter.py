"""A block list in Hugging Face generation: `generate(..., logits_processor=[...])`.

Tokens are not words, so each candidate token is tried: the text with it is split into words as the
corpus was, and the token is forbidden if a word that it ends, begins or changes completes a
blocked n-gram.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from leakscope.corpus.words import words
from leakscope.records.block_lists.block_list import BlockList, HashArray
from leakscope.records.errors import LeakscopeError

MARGIN = 16  # words at the seam of a text that is cut, or that one more token can still change


class Tokenizer(Protocol):
    """What is asked of a Hugging Face tokenizer."""

    def batch_decode(self, sequences: Any, **options: Any) -> list[str]:
        """The texts of some lists of token ids."""
        ...


class BlockListProcessor:
    """A `LogitsProcessor` after which no blocked n-gram can be generated.

    Only the `candidates` best tokens of each step are tried (more if all of them are forbidden);
    all others are forbidden too, so that sampling cannot reach a token that was not tried. Words
    of the prompt are never questioned, but count as words before. A word is forbidden as soon as
    its beginning is a blocked word, so "secretly" is where "secret" is.
    """

    def __init__(
        self, block_list: BlockList, tokenizer: Tokenizer, *, candidates: int = 64
    ) -> None:
        if candidates < 1:
            raise LeakscopeError("A block list must be given at least one candidate token.")
        self._list, self._tokenizer, self._candidates = block_list, tokenizer, candidates

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores [b, v] after tokens `input_ids` [b, t], minus infinity where forbidden."""
        kept = torch.full_like(scores, -torch.inf)
        for row in range(len(scores)):
            allowed = self._allowed(input_ids[row].tolist(), scores[row])
            kept[row, allowed] = scores[row, allowed]
        return kept

    def _allowed(self, said: list[int], scores: Tensor) -> Tensor:
        """The best tokens, without the forbidden; at least one."""
        order = scores.argsort(descending=True, stable=True)
        order = order[torch.isfinite(scores[order])]
        tail, before = self._tail(said)
        for tokens in torch.split(order, self._candidates):
            free = ~self._forbidden(tail, before, tokens.tolist())
            if free.any():
                return tokens[torch.from_numpy(free).to(tokens.device)]
        raise LeakscopeError(
            "The block list forbids every token that is left; put it before other logits "
            "processors, and give the model an end-of-text token."
        )

    def _tail(self, said: list[int]) -> tuple[list[int], list[str]]:
        """So many of the last tokens that they hold all words that matter, and these words."""
        size = 4 * (self._list.longest + MARGIN)
        while True:
            found = self._words([said[-size:]])[0]
            if size >= len(said) or len(found) >= self._list.longest + 2 * MARGIN:
                break
            size *= 2
        return said[-size:], found

    def _forbidden(
        self, tail: list[int], before: Sequence[str], tokens: list[int]
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """[tokens] whether each completes a blocked n-gram somewhere."""
        owners: list[int] = []
        reached: list[list[str]] = []
        for index, found in enumerate(self._words([[*tail, token] for token in tokens])):
            # Words that were there before have been tried in their turn, or are the prompt's.
            for stop in range(_common(before, found), len(found)):
                owners.append(index)
                reached.append(found[max(0, stop + 1 - self._list.longest) : stop + 1])
        forbidden = np.zeros(len(tokens), np.bool_)
        if reached and self._list.longest:
            hashes = self._rows(reached)
            blocked = self._list.blocked(hashes[:, 1:], hashes[:, :1])[:, 0]
            forbidden[np.array(owners)[blocked]] = True
        return forbidden

    def _rows(self, reached: list[list[str]]) -> HashArray:
        """[r, longest] the hashes of each list's words, the last first, then 0."""
        known = list({word for found in reached for word in found})
        hashes = dict(zip(known, self._list.word_hashes(known).tolist(), strict=True))
        rows = np.zeros((len(reached), self._list.longest), np.uint64)
        for row, found in enumerate(reached):
            rows[row, : len(found)] = [hashes[word] for word in reversed(found)]
        return rows

    def _words(self, sequences: list[list[int]]) -> list[list[str]]:
        texts = self._tokenizer.batch_decode(sequences, skip_special_tokens=True)
        return [words(text, lowercase=self._list.lowercase) for text in texts]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    length = min(len(one), len(other))
    return next((i for i in range(length) if one[i] != other[i]), length)
