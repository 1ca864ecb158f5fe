"""All compiled code for the tree that suffix links make of a trie's deep nodes. `Trie` and
`SuffixLinks` say what the arrays hold.
"""

import numpy as np

from leakscope.engine.compiled import compiled

# Kernels have no annotations: numba takes the types from the arguments.
# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201


@compiled()
def deep_nodes(depths, shallow):
    """The deep nodes, those with fewer words first; `depths` [n] are the words of each node."""
    deepest = depths.max()
    nodes = len(depths)
    starts = np.zeros(max(deepest - shallow, 0) + 1, np.int64)
    for node in range(1, nodes):
        if depths[node] > shallow:
            starts[depths[node] - shallow] += 1
    starts = np.cumsum(starts)
    order = np.empty(starts[-1], np.int32)
    for node in range(1, nodes):
        if depths[node] > shallow:
            level = depths[node] - shallow - 1
            order[starts[level]] = node
            starts[level] += 1
    return order


@compiled()
def rank_states(links, order):
    """The tree that links make of the deep nodes, numbered depth first from 1 (0: its root):
    ranks [n] by node; nodes, above (the rank it hangs from) and heads (of its heavy path) by rank.
    """
    size = len(order)
    numbers = np.zeros(len(links), np.int32)  # 1 + the place in `order`
    for i in range(size):
        numbers[order[i]] = i + 1
    sizes = np.ones(size + 1, np.int32)
    heavy = np.zeros(size + 1, np.int32)
    for i in range(size, 0, -1):
        up = numbers[links[order[i - 1]]]
        sizes[up] += sizes[i]
        if heavy[up] == 0 or sizes[i] > sizes[heavy[up]]:
            heavy[up] = i
    free = np.ones(size + 1, np.int32)  # the next rank below each state
    rank_of = np.zeros(size + 1, np.int32)
    nodes = np.zeros(size + 1, np.int32)
    above = np.zeros(size + 1, np.int32)
    heads = np.zeros(size + 1, np.int32)
    for i in range(1, size + 1):
        up = numbers[links[order[i - 1]]]
        rank = free[up]
        free[up] += sizes[i]
        free[i] = rank + 1
        rank_of[i] = rank
        nodes[rank] = order[i - 1]
        above[rank] = rank_of[up]
        heads[rank] = heads[rank_of[up]] if heavy[up] == i else rank
    return rank_of[numbers], nodes, above, heads


@compiled()
def settle(pairs, nodes, above, heads, users):
    """Count each user once at every deep node that matches, from the sorted pairs of whole users:
    one more at each state visited, one less where two neighbours' ways to the root meet. The
    sums over the tree, `sum_up`, are then the users.
    """
    for i in range(len(pairs)):
        rank = pairs[i] & 0xFFFFFFFF
        users[nodes[rank]] += 1
        if i and pairs[i - 1] >> 32 == pairs[i] >> 32:
            one, other = pairs[i - 1] & 0xFFFFFFFF, rank
            while heads[one] != heads[other]:
                if heads[one] > heads[other]:
                    one = np.int64(above[heads[one]])
                else:
                    other = np.int64(above[heads[other]])
            meet = min(one, other)
            if meet:
                users[nodes[meet]] -= 1


@compiled()
def sum_up(nodes, above, total, users):
    """Add to each deep node what all nodes have that end with its words."""
    for rank in range(len(nodes) - 1, 0, -1):
        if above[rank]:
            total[nodes[above[rank]]] += total[nodes[rank]]
            users[nodes[above[rank]]] += users[nodes[rank]]
