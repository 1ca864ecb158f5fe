"""All compiled code that goes over S, occurrence by occurrence, in corpus order."""

import numpy as np

from leakscope.engine.compiled import compiled

# Kernels have no annotations: numba takes the types from the arguments.
# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201


@compiled()
def tally(
    nodes, users, perplexities, copied, near_tie, base, done,
    total, owners, last, uncopied, ties, lowest, births,
):  # fmt: skip
    """Add occurrences, of which `done` went before, to what is known of each node from `base` on;
    a user who went before the last one does not come back.
    """
    for i in range(len(nodes)):
        node = np.int64(nodes[i]) - base
        if node <= 0 or node >= len(total):
            continue
        if total[node] == 0:
            births[node] = done + i
        total[node] += 1
        if last[node] != users[i]:
            last[node] = users[i]
            owners[node] += 1
        uncopied[node] |= not copied[i]
        ties[node] |= near_tie[i]
        if lowest[node] == lowest[node] and not lowest[node] <= perplexities[i]:
            lowest[node] = perplexities[i]  # NaN is lower than all


@compiled()
def inherit_births(edges, births):
    """Make of the first occurrence of each sequence the first one that begins with it."""
    for node in range(len(births) - 1, 0, -1):  # a parent has a lower number than its children
        parent = edges[node] >> 32
        births[parent] = min(births[parent], births[node])


@compiled()
def count_documents(nodes, documents, last, found):
    """Add to `found` the distinct documents of each node's occurrences, which come in their order;
    `last` keeps the last one of each.
    """
    for i in range(len(nodes)):
        node = nodes[i]
        if last[node] != documents[i]:
            last[node] = documents[i]
            found[node] += 1


@compiled()
def count_each(numbers, found):
    """Add to `found` how often each number comes."""
    for i in range(len(numbers)):
        found[numbers[i]] += 1


@compiled()
def keep_shortest(owners, starts, done, offsets, sizes, kept):
    """Keep for each owner the occurrences, of which `done` went before, with the shortest contexts:
    start << 32 | number in a heap, the greatest first, of offsets[i + 1] - offsets[i] at most.
    """
    for i in range(len(owners)):
        owner = owners[i]
        low, room = offsets[owner], offsets[owner + 1] - offsets[owner]
        value = (np.uint64(starts[i]) << np.uint64(32)) | np.uint64(done + i)
        size = sizes[owner]
        if size < room:
            place = size
            sizes[owner] += 1
            while place > 0 and kept[low + (place - 1) // 2] < value:
                kept[low + place] = kept[low + (place - 1) // 2]
                place = (place - 1) // 2
            kept[low + place] = value
        elif value < kept[low]:
            place = 0
            while 2 * place + 1 < room:
                below = 2 * place + 1
                if below + 1 < room and kept[low + below + 1] > kept[low + below]:
                    below += 1
                if kept[low + below] <= value:
                    break
                kept[low + place] = kept[low + below]
                place = below
            kept[low + place] = value


@compiled()
def sort_each(offsets, kept):
    """Sort what is kept of each owner."""
    for owner in range(len(offsets) - 1):
        kept[offsets[owner] : offsets[owner + 1]].sort()
