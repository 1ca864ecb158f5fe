"""Which process does which part of a step."""

import heapq

import numpy as np

from leakscope.records.documents import LongArray


def shares_of(sizes: LongArray, ranks: int) -> list[LongArray]:
    """The parts of a step, of these sizes [n], divided among so many ranks: for each rank the
    numbers of its parts, increasing. The largest go first, each to the rank that has least so far,
    so the result is a function of the arguments alone. A rank may get none.
    """
    if ranks == 1:
        return [np.arange(len(sizes))]
    found: list[list[int]] = [[] for _ in range(ranks)]
    loads = [(0, rank) for rank in range(ranks)]
    for part in np.argsort(-sizes, kind="stable").tolist():
        load, rank = heapq.heappop(loads)
        found[rank].append(part)
        heapq.heappush(loads, (load + int(sizes[part]), rank))
    return [np.array(sorted(parts), np.int64) for parts in found]
