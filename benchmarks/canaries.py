"""Exposure of many canaries against the bare forward pass of the same words."""

import numpy as np

from benchmarks import material
from benchmarks.lines import Line, interleaved
from benchmarks.scoring import bare_forward
from leakscope.canaries.exposure import fit_space, fitted_exposure, sampled_exposure
from leakscope.canaries.planting.word_choices import frequent_words
from leakscope.canaries.random_space import make_space
from leakscope.canaries.surprise import surprise_of
from leakscope.records.documents import Documents

BAR = 1.2


def lines(canaries: int = 1000, samples: int = 100_000, repeats: int = 1) -> list[Line]:
    """Scores of 1,000 canaries and 100,000 samples of five words, and their exposure by samples and
    by fit, against a forward pass (with the full output product) of those words.
    """
    on = material.corpus(300_000)
    model = material.model("gru-160-512", on)
    words = [word for word in frequent_words(on.lexicon, 5000) if word in set(model.vocabulary)]
    space = make_space("{words:5}", [words] * 5, lowercase=False)
    rows = space.draw(np.random.default_rng(0), canaries + samples)
    ids = np.array([on.lexicon.ids[word] for word in words], np.int32)
    documents = Documents(
        np.zeros(len(rows), np.int32),
        np.arange(len(rows), dtype=np.int64),
        5 * np.arange(len(rows) + 1, dtype=np.int64),
        ids[rows].ravel(),
    )

    def ours() -> None:
        found = surprise_of(model, space, rows)
        sampled_exposure(found[:canaries], found[canaries:], space.bits)
        fitted = fit_space(found[canaries:], 100, np.random.default_rng(0))
        fitted_exposure(found[:canaries], fitted, space.bits)

    seconds, bare = interleaved(ours, lambda: bare_forward(model, documents), repeats)
    detail = f"{5 * len(rows):,} words, {bare:.0f} s bare"
    return [Line("exposure / bare forward", seconds / bare, BAR, True, detail=detail)]
