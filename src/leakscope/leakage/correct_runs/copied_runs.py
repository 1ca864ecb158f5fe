"""Which runs of correct words stood in their own document before: what a model may have copied.

Short chains of earlier places settle it for ordinary text. A document in which they get long, as
where one word comes again and again, is read once more by an automaton of its runs (Aho and
Corasick, 1975), which takes linear time whatever the text. All kernels stand in this file because
machine code is kept per file.
"""

import numpy as np

from leakscope.engine.compiled import compiled
from leakscope.engine.spilled_array import filled
from leakscope.records.documents import BoolArray, IntArray, LongArray

# Kernels have no annotations: numba takes the types from the arguments.
# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN202

STEPS = 16
"""Steps along chains that a document may take for each of its words."""


def find_copied(
    ids: IntArray, offsets: LongArray, first: LongArray, lengths: LongArray, steps: int = STEPS
) -> BoolArray:
    """[o] whether the `lengths[i]` words from `first[i]` on stand earlier in their document,
    wholly before `first[i]`. Runs must be in order and must not overlap.
    """
    previous = filled(np.int32, len(ids), 0)
    found: BoolArray = _copied(ids, offsets, first, lengths, steps, previous)
    return found


@compiled()
def _copied(ids, offsets, first, lengths, steps, previous):
    """`find_copied`; `previous` [w] is room for the last place of each word."""
    copied = np.zeros(len(first), np.bool_)
    size = 0
    for i in range(len(ids)):
        size = max(size, ids[i] + 1)
    last = np.full(size, -1, np.int32)
    run = 0
    for document in range(len(offsets) - 1):
        begin, stop = offsets[document], offsets[document + 1]
        low = run
        while run < len(first) and first[run] < stop:
            run += 1
        if low == run:
            continue
        done = _by_chains(
            ids, begin, first[low:run], lengths[low:run], steps * (stop - begin), previous, last,
            copied[low:run],
        )  # fmt: skip
        if not done:
            _by_automaton(ids, begin, first[low:run], lengths[low:run], copied[low:run])
    return copied


@compiled()
def _by_chains(ids, begin, first, lengths, steps, previous, last, copied):
    """Fill in `copied` for a document's runs by following, from each run's first word, the chain of
    its own earlier places; False: that took more than so many steps, and not all are filled in.
    """
    place = begin
    for run in range(len(first)):
        while place <= first[run]:
            word = ids[place]
            previous[place] = last[word] if last[word] >= begin else -1
            last[word] = place
            place += 1
        start, length = first[run], lengths[run]
        earlier = previous[start]
        while earlier >= 0:
            steps -= 1
            if earlier + length <= start:
                same = 1
                while same < length and ids[earlier + same] == ids[start + same]:
                    same += 1
                if same == length:
                    copied[run] = True
                    break
                steps -= same
            if steps < 0:
                return False
            earlier = previous[earlier]
    return True


@compiled(inline="always")
def _slot_of(node, word, keys):
    """Where the edge from `node` by `word` is in the table, or the free slot where it belongs."""
    mask = len(keys) - 1
    key = (np.int64(node) << 32) | word
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(mask))
    while keys[slot] != key and keys[slot] != -1:
        slot = (slot + 1) & mask
    return slot


@compiled()
def _by_automaton(ids, begin, first, lengths, copied):
    """Fill in `copied` for a document's runs: each is a node of a trie; the earliest place where a
    node matches is the earliest of all nodes that end with it.
    """
    ends, order, links, keys, children = _automaton(ids, first, lengths)
    never = first[-1] + 1
    earliest = np.full(len(links), never, np.int64)  # place behind the first match of each node
    node = 0
    for place in range(begin, first[-1]):
        while True:
            slot = _slot_of(node, ids[place], keys)
            if keys[slot] != -1:
                node = children[slot]
                break
            if node == 0:
                break
            node = links[node]
        earliest[node] = min(earliest[node], place + 1)
    for i in range(len(order) - 1, -1, -1):
        up = links[order[i]]
        earliest[up] = min(earliest[up], earliest[order[i]])
    for run in range(len(first)):
        copied[run] = earliest[ends[run]] <= first[run]


@compiled()
def _grown(keys, children):
    """The table of edges with twice the room."""
    wider, below = np.full(2 * len(keys), -1, np.int64), np.zeros(2 * len(keys), np.int32)
    for slot in range(len(keys)):
        if keys[slot] != -1:
            found = _slot_of(keys[slot] >> 32, keys[slot] & 0xFFFFFFFF, wider)
            wider[found], below[found] = keys[slot], children[slot]
    return wider, below


@compiled()
def _automaton(ids, first, lengths):
    """The node of each run, all nodes but the root with the shorter ones first, each node's longest
    proper suffix that is a node, and the table of edges, which grows with the distinct nodes.
    """
    keys = np.full(1024, -1, np.int64)  # node << 32 | word of an edge; node 0 is the root
    children = np.zeros(1024, np.int32)
    # There may be as many nodes as words, but memory that nobody writes to is not taken.
    most = lengths.sum() + 1
    parents = np.empty(most, np.int32)
    arrivals = np.empty(most, np.int32)  # the last word of each node
    depths = np.empty(most, np.int32)
    depths[0] = 0
    ends = np.zeros(len(first), np.int32)
    nodes = 1
    for run in range(len(first)):
        node = 0
        for place in range(first[run], first[run] + lengths[run]):
            slot = _slot_of(node, ids[place], keys)
            if keys[slot] == -1:
                keys[slot] = (np.int64(node) << 32) | ids[place]
                children[slot] = nodes
                parents[nodes] = node
                arrivals[nodes] = ids[place]
                depths[nodes] = depths[node] + 1
                node = nodes
                nodes += 1
                if 2 * nodes > len(keys):
                    keys, children = _grown(keys, children)
            else:
                node = children[slot]
        ends[run] = node
    starts = np.zeros(lengths.max() + 1, np.int64)  # a counting sort by depth
    for node in range(1, nodes):
        starts[depths[node]] += 1
    starts = np.cumsum(starts)
    order = np.empty(nodes - 1, np.int32)
    for node in range(1, nodes):
        order[starts[depths[node] - 1]] = node
        starts[depths[node] - 1] += 1
    links = np.zeros(nodes, np.int32)
    for i in range(len(order)):
        state = parents[order[i]]
        while state != 0:
            state = links[state]
            slot = _slot_of(state, arrivals[order[i]], keys)
            if keys[slot] != -1:
                links[order[i]] = children[slot]
                break
    return ends, order, links, keys, children
