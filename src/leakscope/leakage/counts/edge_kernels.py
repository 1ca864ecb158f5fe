"""All compiled code that reads nothing of a trie but its edges, from any node up to the root."""

import numpy as np

from leakscope.engine.compiled import compiled

# Kernels have no annotations: numba takes the types from the arguments.
# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201


@compiled()
def spell(nodes, edges):
    """The words of many nodes, as offsets and flat ids."""
    offsets = np.zeros(len(nodes) + 1, np.int64)
    for i in range(len(nodes)):
        node, depth = np.int64(nodes[i]), 0
        while node:
            node = edges[node] >> 32
            depth += 1
        offsets[i + 1] = offsets[i] + depth
    ids = np.empty(offsets[-1], np.int32)
    for i in range(len(nodes)):
        node, place = np.int64(nodes[i]), offsets[i + 1] - 1
        while node:
            ids[place] = edges[node] & 0xFFFFFFFF
            node = edges[node] >> 32
            place -= 1
    return offsets, ids


@compiled()
def depths_of(edges, nodes):
    """[n] the words of each node."""
    depths = np.zeros(nodes, np.int32)
    for node in range(1, nodes):  # a parent has a lower number than its children
        depths[node] = depths[edges[node] >> 32] + 1
    return depths
