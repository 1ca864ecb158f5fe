"""A block list: a Bloom filter of the word n-grams that a model must not complete.

Nothing that is in the list is ever let through; of the n-grams that are not in it, a stated share
is taken for blocked. A word is known by a keyed hash of 64 bits, an n-gram by its words' hashes
folded together: the words before the last one, nearest first, then the last one itself. So what
comes before is folded once for all candidates of the next word.
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from leakscope.records.block_lists.block_list_file import (
    MOST_BITS,
    SALT_BYTES,
    BlockHeader,
    read_block_file,
    write_block_file,
)
from leakscope.records.documents import BoolArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.splitmix import finalize, scrambled

HashArray = npt.NDArray[np.uint64]

LEAST_BITS = 1024  # below that, a filter's own share of false positives is a matter of luck

_START = np.uint64(0x243F6A8885A308D3)
_STEP = np.uint64(0x13198A2E03707344)
_ODD = np.uint64(0xD1342543DE82EF95)


@dataclass(frozen=True, eq=False)
class BlockList:
    """Made by `build`, or read by `load`."""

    bits: npt.NDArray[np.uint8] = field(repr=False)
    """[size / 8, rounded up] bit i is bit i % 8 of byte i // 8."""
    size: int
    """How many bits there are."""
    probes: int
    """How many of them an n-gram sets."""
    lengths: tuple[int, ...]
    """The lengths of the n-grams in the list, shortest first."""
    count: int
    """How many n-grams are in the list."""
    rate: float
    """The stated share of other n-grams of these lengths that are taken for blocked."""
    salt: bytes = field(repr=False)
    """The key of the words' hashes."""
    lowercase: bool
    """Words are lower-cased before they are looked up, since the corpus's were."""
    corpus_digest: str
    """Of the corpus that the n-grams come from."""

    @staticmethod
    def build(
        ngrams: Iterable[Sequence[str]],
        rate: float,
        *,
        salt: bytes,
        lowercase: bool,
        corpus_digest: str = "",
    ) -> "BlockList":
        """A list of these n-grams, words spelled as `corpus.words` gives them, as large as the
        stated `rate` of false positives needs; `salt` is 16 random bytes.
        """
        if not 0 < rate < 1:
            raise LeakscopeError("The rate of false positives must be between 0 and 1, as 0.001.")
        if len(salt) != SALT_BYTES:
            raise LeakscopeError(f"The salt of a block list must have {SALT_BYTES} bytes.")
        distinct = {tuple(w.lower() for w in n) if lowercase else tuple(n) for n in ngrams}
        if () in distinct:
            raise LeakscopeError("An n-gram of a block list must have at least one word.")
        probes, size = _shape(len(distinct), rate)
        made = BlockList(
            bits=np.zeros((size + 7) // 8, np.uint8),
            size=size,
            probes=probes,
            lengths=tuple(sorted({len(ngram) for ngram in distinct})),
            count=len(distinct),
            rate=rate,
            salt=salt,
            lowercase=lowercase,
            corpus_digest=corpus_digest,
        )
        for length in made.lengths:
            made._add(sorted(ngram for ngram in distinct if len(ngram) == length), length)
        return made

    def save(self, path: Path) -> None:
        """Write one file, readable by its owner only, whole or not at all."""
        header = BlockHeader(
            size=self.size,
            probes=self.probes,
            lengths=self.lengths,
            count=self.count,
            rate=self.rate,
            salt=self.salt.hex(),
            lowercase=self.lowercase,
            corpus_digest=self.corpus_digest,
        )
        write_block_file(path, header, self.bits.tobytes())

    @staticmethod
    def load(path: Path) -> "BlockList":
        """Read a file written by `save`."""
        header, bits = read_block_file(path)
        return BlockList(
            bits=np.frombuffer(bits, np.uint8),
            size=header.size,
            probes=header.probes,
            lengths=header.lengths,
            count=header.count,
            rate=header.rate,
            salt=bytes.fromhex(header.salt),
            lowercase=header.lowercase,
            corpus_digest=header.corpus_digest,
        )

    @property
    def longest(self) -> int:
        """The length of the longest n-gram; 0 if there are none."""
        return max(self.lengths, default=0)

    @property
    def word_rate(self) -> float:
        """The share of innocent words that are taken for blocked, at most: a word completes one
        n-gram of every length.
        """
        return 1 - (1 - self.rate) ** len(self.lengths)

    @property
    def expected_rate(self) -> float:
        """The share of other n-grams that this very filter takes for blocked, from its set bits."""
        return float((np.bitwise_count(self.bits).sum() / self.size) ** self.probes)

    def word_hashes(self, words: Sequence[str]) -> HashArray:
        """[n] the hash of each word, never 0, which stands for no word."""
        spelled = (word.lower() for word in words) if self.lowercase else words
        digests = (
            hashlib.blake2b(
                word.encode("utf-8", "surrogatepass"), digest_size=8, key=self.salt
            ).digest()
            for word in spelled
        )
        hashes = np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
        return np.maximum(hashes, np.uint64(1))

    def blocks(self, words: Sequence[str]) -> bool:
        """Whether the last of `words` completes a blocked n-gram."""
        hashes = self.word_hashes(words[-self.longest :] if self.longest else [])
        if not len(hashes):
            return False
        return bool(self.blocked(hashes[None, -2::-1], hashes[None, -1:])[0, 0])

    def blocked(self, before: HashArray, candidates: HashArray) -> BoolArray:
        """[w, c] whether each candidate would complete a blocked n-gram, by hashes of words.

        `before` [w, any] has the words before it, the nearest first, and 0 from where there are
        no more; more than `longest - 1` are not needed. `candidates` [w, c] are 0 where there is
        no word, which is never blocked.
        """
        found = np.zeros(candidates.shape, np.bool_)
        last = scrambled(candidates)
        folded, rows = np.full(len(candidates), _START), np.arange(len(candidates))
        for length in range(1, self.longest + 1):
            if length > 1:
                if length - 2 >= before.shape[1]:
                    break
                said = before[rows, length - 2] != 0
                rows, folded = rows[said], folded[said]
                folded = finalize(folded * _ODD + before[rows, length - 2])
            if length in self.lengths:
                found[rows] |= self._holds(finalize(folded[:, None] ^ last[rows]))
        found[candidates == 0] = False
        return found

    def _add(self, ngrams: list[tuple[str, ...]], length: int) -> None:
        """Set the bits of n-grams that all have this length."""
        numbers = {word: i for i, word in enumerate({w for ngram in ngrams for w in ngram})}
        hashes = self.word_hashes(list(numbers))
        words = hashes[[[numbers[word] for word in ngram] for ngram in ngrams]]
        folded = np.full(len(ngrams), _START)
        for before in range(length - 2, -1, -1):
            folded = finalize(folded * _ODD + words[:, before])
        at = finalize(folded ^ scrambled(words[:, -1]))
        step = _step(at)
        for _ in range(self.probes):
            place = self._place(at)
            np.bitwise_or.at(self.bits, place >> 3, np.uint8(1) << (place & 7).astype(np.uint8))
            at = at + step

    def _holds(self, hashes: HashArray) -> BoolArray:
        """Whether n-grams of these hashes are in the filter; one that is not is mostly told by
        its first few bits, so the others are not looked at.
        """
        at = hashes.reshape(-1)
        alive, step = np.arange(at.size), _step(at)
        for _ in range(self.probes):
            place = self._place(at)
            hit = ((self.bits[place >> 3] >> (place & 7).astype(np.uint8)) & 1).astype(np.bool_)
            alive, at, step = alive[hit], at[hit] + step[hit], step[hit]
        found = np.zeros(hashes.size, np.bool_)
        found[alive] = True
        return found.reshape(hashes.shape)

    def _place(self, hashes: HashArray) -> npt.NDArray[np.int64]:
        """The bit of each hash: its upper half, scaled to the size."""
        scaled = (hashes >> np.uint64(32)) * np.uint64(self.size)
        return (scaled >> np.uint64(32)).astype(np.int64)


def _step(hashes: HashArray) -> HashArray:
    """The distance between the probes of an n-gram: double hashing."""
    return finalize(hashes ^ _STEP) | np.uint64(1)


def _shape(count: int, rate: float) -> tuple[int, int]:
    """(probes, bits) of a filter of `count` n-grams that reaches the rate with the fewest bits:
    each probe is a set bit by chance with probability rate^(1 / probes).
    """
    probes = max(1, round(-math.log2(rate)))
    size = math.ceil(-probes * count / math.log1p(-(rate ** (1 / probes))))
    if size >= MOST_BITS:
        raise LeakscopeError(
            "The block list would be larger than half a gigabyte; allow more false positives."
        )
    return probes, max(size, LEAST_BITS)
