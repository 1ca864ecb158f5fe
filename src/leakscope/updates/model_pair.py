"""Two snapshots of a model, read side by side over one list of entries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from leakscope.models.carried_prefixes import CarriedPrefixes
from leakscope.models.interface import Continuations, LanguageModel, Prefix
from leakscope.records.documents import LongArray
from leakscope.records.errors import LeakscopeError
from leakscope.updates.score_rule import ScoreRule

BLOCK = 2**20
"""Probabilities of one model in memory at a time: 4 MB, which caches hold."""
CHUNK = 16
"""Blocks after which a search keeps what it has found: one or two seconds' work."""


@dataclass(frozen=True)
class ModelPair:
    """An older and a newer model, and the entries that sequences are made of: the words of the
    newer one, or the tokens of both. A word that the older one does not know has probability 0
    there, and is read as `<unk>`.
    """

    old: LanguageModel
    new: LanguageModel

    def begin(self, prefix: Prefix = ()) -> "PairedPrefixes":
        """Both after the words of one prefix."""
        old, new = self.old.begin([prefix]), self.new.begin([prefix])
        return PairedPrefixes(old, new, matching_entries(old, new))

    @cached_property
    def entries(self) -> Sequence[str]:
        """[t] how each entry is spelled."""
        after = self.new.begin([()])
        return after.entries[: after.words]


@dataclass(frozen=True)
class PairedPrefixes:
    """n prefixes that both models have read; what is longer is a new one."""

    old: Continuations
    new: Continuations
    in_old: LongArray | None
    """[t] the older model's entry for each of the newer one's; `<unk>` where it has none. None:
    both have the same."""

    @property
    def size(self) -> int:
        """How many entries may follow."""
        return self.new.words

    def __len__(self) -> int:
        return len(self.new)

    @torch.inference_mode()
    def new_probabilities(self, rows: LongArray, rule: ScoreRule) -> Tensor:
        """[m, t] of what follows the prefixes at `rows`, by the newer model."""
        return rule.seen(_probabilities(self.new, rows, "new"))[:, : self.size]

    @torch.inference_mode()
    def old_probabilities(self, rows: LongArray, rule: ScoreRule) -> Tensor:
        """[m, t] the same by the older model."""
        found = rule.seen(_probabilities(self.old, rows, "old"))
        if self.in_old is None:
            return found[:, : self.size]
        found[:, self.old.words :] = 0.0  # a word that it does not know, it never says
        return found[:, torch.from_numpy(self.in_old).to(found.device)]

    def extended(self, rows: LongArray, entries: LongArray) -> "PairedPrefixes":
        """The prefixes at `rows` [m], each with one of `entries` [m] behind it."""
        theirs = entries if self.in_old is None else self.in_old[entries]
        return PairedPrefixes(
            self.old.extended(rows, theirs), self.new.extended(rows, entries), self.in_old
        )

    @property
    def block_rows(self) -> int:
        """How many rows are in a block, but for the last one."""
        return max(1, BLOCK // len(self.new.entries))

    def blocks(self) -> Iterator[LongArray]:
        """All rows in their order, a few at a time."""
        step = self.block_rows
        for start in range(0, len(self), step):
            yield np.arange(start, min(start + step, len(self)))

    @property
    def chunk_rows(self) -> int:
        """How many rows a killed search loses at most."""
        return CHUNK * self.block_rows

    def chunks(self) -> list[list[LongArray]]:
        """The blocks, as many together as a killed search loses at most."""
        blocks = list(self.blocks())
        return [blocks[start : start + CHUNK] for start in range(0, len(blocks), CHUNK)]


def matching_entries(old: Continuations, new: Continuations) -> LongArray | None:
    """See `PairedPrefixes.in_old`. Models of tokens must have the same ones, since a text is cut
    differently by others.
    """
    same = old.words == new.words and list(old.entries) == list(new.entries)
    if same and np.array_equal(_ids(old), _ids(new)):
        return None
    if _has_tokens(old) or _has_tokens(new):
        raise LeakscopeError(
            "The models have different tokens, so that a search cannot go through both; give two "
            "with the same tokenizer, or only score --sequences, in words."
        )
    known = {word: entry for entry, word in enumerate(old.entries[: old.words])}
    shared = [known.get(word, old.words) for word in new.entries[: new.words]]
    if all(entry == old.words for entry in shared):
        raise LeakscopeError("The models have no word in common; give two snapshots of one model.")
    return np.array(shared, np.int64)


def _ids(after: Continuations) -> LongArray:
    """The input ids of tokens; none where entries are words."""
    found = after.choices.ids if isinstance(after, CarriedPrefixes) else None
    return np.zeros(0, np.int64) if found is None else found


def _has_tokens(after: Continuations) -> bool:
    return len(_ids(after)) > 0


def _probabilities(after: Continuations, rows: LongArray, which: str) -> Tensor:
    """[m, v] after the prefixes at `rows`; where an interface is silent, nothing has any."""
    if isinstance(after, CarriedPrefixes):
        found = after.probabilities(rows)
    else:
        found = torch.from_numpy(np.exp(after.log_probs(rows)))
        found[torch.from_numpy(after.silent()[rows])] = 0.0
    if bool(found[:, 0].isnan().any()):  # one that is not a number makes all of its row so
        raise LeakscopeError(
            f"The {which} model's probabilities are not numbers (NaN); its weights are damaged, or "
            "its training has blown up."
        )
    return found
