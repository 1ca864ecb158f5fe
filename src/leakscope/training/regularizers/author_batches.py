"""Batches that hold several texts of each of a few authors (Mireshghallah et al. 2021, A.2.1)."""

import numpy as np

from leakscope.records.documents import LongArray
from leakscope.records.ragged import within_rows
from leakscope.training.steps.batches import POOL

PARTS = 8
"""Parts of an author whose pieces are sorted by length together. Were they many, the same pieces
would always be together, and a model could learn to spread just these."""


def author_order(
    sizes: LongArray,
    authors: LongArray,
    batch_size: int,
    users_per_batch: int,
    rng: np.random.Generator,
) -> list[LongArray]:
    """The pieces of each step of an epoch, as many steps as any other order has. Every author's
    pieces are cut into parts that fill a share of a batch, and batches are filled with parts: like
    lengths together, in parts and in batches, as plain training has them.

    A part may be shorter where an author has no more pieces, so a batch may have more authors than
    asked for; one who has most of the text may fill a batch alone.
    """
    share = -(-batch_size // users_per_batch)
    drawn = rng.permutation(len(sizes))
    by_author = drawn[np.argsort(authors[drawn], kind="stable")]
    _, counts = np.unique(authors, return_counts=True)
    nth = within_rows(counts)  # of its author, in the order drawn
    alike = np.lexsort((sizes[by_author], nth // (share * PARTS), authors[by_author]))
    by_author = by_author[alike]
    begins = np.flatnonzero(nth % share == 0)
    parts = np.split(by_author, begins[1:])
    longest = np.maximum.reduceat(sizes[by_author], begins)
    order = rng.permutation(len(parts))
    pools = np.arange(len(parts)) // (users_per_batch * POOL)
    order = order[np.lexsort((longest[order], pools))]
    joined = np.concatenate([parts[i] for i in order])
    batches = np.split(joined, range(batch_size, len(joined), batch_size))
    return [batches[i] for i in rng.permutation(len(batches))]
