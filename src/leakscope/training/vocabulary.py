"""The vocabulary of a training: the words that its model will know."""

import numpy as np

from leakscope.corpus.lexicon import Lexicon


def known_words(lexicon: Lexicon, most: int, users: int) -> list[str]:
    """The first `most` words of a lexicon, but for those of too few users, and for those that only
    validation documents have, which cannot be learned and stay unknown.
    """
    trained = (lexicon.counts[:most] > 0) & (lexicon.users[:most] >= users)
    return [lexicon.words[id] for id in np.flatnonzero(trained).tolist()]
