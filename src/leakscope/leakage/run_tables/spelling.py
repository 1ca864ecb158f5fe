"""Words instead of numbers: what only a revealed run writes."""

from collections.abc import Iterable

import pyarrow as pa

from leakscope.corpus.lexicon import Lexicon
from leakscope.leakage.counts.trie_parts import TrieParts
from leakscope.leakage.sequences.distinct import Contexts
from leakscope.records.documents import IntArray, LongArray


class Speller:
    """Spells ids out in words, many at a time."""

    def __init__(self, lexicon: Lexicon, trie: TrieParts, contexts: Contexts) -> None:
        self._words = pa.array(lexicon.words, pa.string())
        self._trie = trie
        self._contexts = contexts

    def sequences(self, nodes: IntArray) -> pa.ListArray:
        """The words of the nodes' sequences."""
        return self._lists(*self._trie.sequences(nodes))

    def contexts(self, low: int, high: int) -> pa.ListArray:
        """The words of the contexts of examples `low` to `high`."""
        offsets = self._contexts.offsets[low : high + 1]
        return self._lists(offsets - offsets[0], self._contexts.ids[offsets[0] : offsets[-1]])

    def _lists(self, offsets: LongArray, ids: IntArray) -> pa.ListArray:
        return word_lists(self._words, offsets, ids)


def word_lists(words: pa.Array, offsets: LongArray, ids: IntArray) -> pa.ListArray:
    """Row i has the words ids[offsets[i] : offsets[i + 1]], spelled by the lexicon `words`."""
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), words.take(ids))


def user_keys(shards: Iterable[dict[int, str]]) -> dict[int, str]:
    """The keys of all users by number."""
    return {user: key for shard in shards for user, key in shard.items()}
