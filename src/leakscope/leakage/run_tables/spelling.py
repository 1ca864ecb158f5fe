"""Words instead of numbers: what only a revealed run writes."""

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from leakscope.corpus.lexicon import Lexicon
from leakscope.leakage.counts.trie_parts import TrieParts
from leakscope.leakage.sequences.distinct import Contexts
from leakscope.records.documents import IntArray, LongArray


@dataclass(frozen=True)
class Spelled:
    """Rows of words, by their numbers in a lexicon: row i has ids[offsets[i] : offsets[i + 1]]."""

    lexicon: str
    """The lexicon's digest."""
    offsets: LongArray
    ids: IntArray

    def lists(self, words: pa.Array) -> pa.ListArray:
        """The rows in the `words` of the lexicon."""
        return word_lists(words, self.offsets, self.ids)


class Speller:
    """Finds the words of sequences and contexts, many at a time."""

    def __init__(self, lexicon: Lexicon, digest: str, trie: TrieParts, contexts: Contexts) -> None:
        self.words = pa.array(lexicon.words, pa.string())
        self._digest, self._trie, self._contexts = digest, trie, contexts

    def sequences(self, nodes: IntArray) -> Spelled:
        """The words of the nodes' sequences."""
        return Spelled(self._digest, *self._trie.sequences(nodes))

    def contexts(self, low: int, high: int) -> Spelled:
        """The words of the contexts of examples `low` to `high`."""
        offsets = self._contexts.offsets[low : high + 1]
        ids = self._contexts.ids[offsets[0] : offsets[-1]]
        return Spelled(self._digest, offsets - offsets[0], ids)


def word_lists(words: pa.Array, offsets: LongArray, ids: IntArray) -> pa.ListArray:
    """Row i has the words ids[offsets[i] : offsets[i + 1]], spelled by the lexicon `words`."""
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), words.take(ids))


def user_keys(shards: Iterable[dict[int, str]]) -> dict[int, str]:
    """The keys of all users by number."""
    return {user: key for shard in shards for user, key in shard.items()}
