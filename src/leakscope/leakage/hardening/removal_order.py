"""In which order documents are best removed."""

import heapq

import numpy as np

Pairs = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""[2, p] documents, and the unique sequences that come out of them; sorted, each pair once."""


def removal_order(pairs: Pairs, most: int) -> list[tuple[int, int]]:
    """Documents, each the one with the largest share in sequences that are left, with the number
    gone so far. A sequence is gone when every document that it comes out of is; one in n
    documents is worth 1/n to each, so that copies in many documents come one after another.
    """
    held: dict[int, list[int]] = {}  # document -> its sequences
    holders: dict[int, set[int]] = {}  # sequence -> documents that still hold it
    for document, sequence in pairs.T.tolist():
        held.setdefault(document, []).append(sequence)
        holders.setdefault(sequence, set()).add(document)
    worth = {document: _worth(held[document], holders) for document in held}
    queue = [(-value, document) for document, value in worth.items()]
    heapq.heapify(queue)
    chosen: list[tuple[int, int]] = []
    gone = 0
    while queue and len(chosen) < most:
        value, document = heapq.heappop(queue)
        if worth.get(document) != -value:
            continue  # it was chosen already, or is worth more by now and stands further ahead
        del worth[document]
        others = set()
        for sequence in held[document]:
            holders[sequence].remove(document)
            gone += not holders[sequence]
            others |= holders[sequence]
        chosen.append((document, gone))
        for other in others:
            worth[other] = _worth(held[other], holders)
            heapq.heappush(queue, (-worth[other], other))
    return chosen


def _worth(held: list[int], holders: dict[int, set[int]]) -> float:
    return sum(1 / len(holders[sequence]) for sequence in held)
