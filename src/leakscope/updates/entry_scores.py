"""Scores of given sequences of entries, as a search over the same entries would give them."""

from collections.abc import Sequence

import numpy as np

from leakscope.models.interface import Prefix
from leakscope.records.documents import FloatArray, LongArray
from leakscope.updates.beam_search import Beam
from leakscope.updates.model_pair import ModelPair
from leakscope.updates.score_rule import ScoreRule

AT_ONCE = 1024
"""Sequences that are followed at a time."""


def score_entries(
    pair: ModelPair, sequences: Sequence[Sequence[int]], rule: ScoreRule, prefix: Prefix = ()
) -> Beam:
    """Sequences of equally many entries behind `prefix`, in their order, with their scores."""
    entries = np.array(sequences, np.int64)
    parts = [
        _probabilities(pair, entries[start : start + AT_ONCE], rule, prefix)
        for start in range(0, len(entries), AT_ONCE)
    ]
    old, new = (np.concatenate(each) for each in zip(*parts, strict=True))
    scores = rule.terms(old.astype(np.float64), new.astype(np.float64)).sum(1)
    return Beam(entries, scores, old, new, np.zeros(len(entries), np.int64))


def _probabilities(
    pair: ModelPair, entries: LongArray, rule: ScoreRule, prefix: Prefix
) -> tuple[FloatArray, FloatArray]:
    """(old, new), each [m, n]."""
    m, n = entries.shape
    old, new = np.zeros((m, n), np.float32), np.zeros((m, n), np.float32)
    after, rows = pair.begin(prefix), np.zeros(m, np.int64)
    for place in range(n):
        for block in after.blocks():
            mine = np.flatnonzero((rows >= block[0]) & (rows <= block[-1]))
            at = rows[mine] - block[0], entries[mine, place]
            old[mine, place] = after.old_probabilities(block, rule).cpu().numpy()[at]
            new[mine, place] = after.new_probabilities(block, rule).cpu().numpy()[at]
        if place < n - 1:
            after = after.extended(rows, entries[:, place])
            rows = np.arange(m)
    return old, new
