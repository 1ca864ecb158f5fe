"""A sample of the training text, to measure its perplexity after each snapshot."""

import numpy as np

from leakscope.records.documents import Documents

SAMPLE_WORDS = 50_000
LONGEST = 1_000_000
"""Words of a document that are in a sample; only huge ones have more."""


def sample_of(documents: Documents, seed: int) -> Documents:
    """Documents drawn at random until they have about SAMPLE_WORDS words."""
    order = np.random.default_rng([seed, 7]).permutation(len(documents))
    enough = int(np.searchsorted(np.cumsum(documents.lengths()[order]), SAMPLE_WORDS)) + 1
    chosen = np.sort(order[:enough])
    return Documents.of(
        [(int(documents.users[i]), documents.words_of(i)[:LONGEST].tolist()) for i in chosen]
    )
