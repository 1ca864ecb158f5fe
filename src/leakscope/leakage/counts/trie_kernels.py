"""All compiled code that reads or grows a trie, and what it needs of Aho and Corasick's automaton.

It stands in one file because machine code is kept per file. `Trie` and `SuffixLinks` say what the
arrays hold. A node's words are its sequence; a node is deep when it has more than `shallow` words.
"""

import numpy as np

from leakscope.engine.compiled import compiled

# Kernels have no annotations: numba takes the types from the arguments.
# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201, ANN202


@compiled(inline="always")
def _slot_of(key, mask):
    """Where the search for `key` begins: a multiplicative hash, its high bits mixed down."""
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(mask))


@compiled(inline="always")
def _child_of(node, word, keys, children):
    """Where `word` leads from `node`, which is not the root; 0: nowhere."""
    mask = len(keys) - 1
    key = (np.int64(node) << 32) | word
    slot = _slot_of(key, mask)
    while keys[slot] != key and keys[slot] != -1:
        slot = (slot + 1) & mask
    return children[slot] if keys[slot] == key else 0


@compiled(inline="always")
def _is_next(node, word, parents, words, nodes):
    """Whether `word` leads from `node` to the next number, as in what was inserted in one go: that
    spares a look into the table.
    """
    return node + 1 < nodes and parents[node + 1] == node and words[node + 1] == word


@compiled()
def insert(ids, offsets, roots, keys, children, parents, words, nodes):
    """[s] the node of each sequence, and how many nodes there are now."""
    ends = np.zeros(len(offsets) - 1, np.int32)
    mask = len(keys) - 1
    for i in range(len(offsets) - 1):
        node = 0
        for place in range(offsets[i], offsets[i + 1]):
            word = ids[place]
            if node == 0:
                child = roots[word]
                if child == 0:
                    child = nodes
                    roots[word] = child
            else:
                key = (np.int64(node) << 32) | word
                slot = _slot_of(key, mask)
                while keys[slot] != key and keys[slot] != -1:
                    slot = (slot + 1) & mask
                if keys[slot] == -1:
                    keys[slot] = key
                    children[slot] = nodes
                child = children[slot]
            if child == nodes:
                parents[nodes] = node
                words[nodes] = word
                nodes += 1
            node = child
        ends[i] = node
    return ends, nodes


@compiled()
def rehash(keys, children, new_keys, new_children):
    """Put all edges into a larger, empty table."""
    mask = len(new_keys) - 1
    for i in range(len(keys)):
        if keys[i] != -1:
            slot = _slot_of(keys[i], mask)
            while new_keys[slot] != -1:
                slot = (slot + 1) & mask
            new_keys[slot] = keys[i]
            new_children[slot] = children[i]


@compiled()
def spell(nodes, parents, words):
    """The words of many nodes, as offsets and flat ids."""
    offsets = np.zeros(len(nodes) + 1, np.int64)
    for i in range(len(nodes)):
        node, depth = nodes[i], 0
        while node:
            node = parents[node]
            depth += 1
        offsets[i + 1] = offsets[i] + depth
    ids = np.empty(offsets[-1], np.int32)
    for i in range(len(nodes)):
        node, place = nodes[i], offsets[i + 1] - 1
        while node:
            ids[place] = words[node]
            node = parents[node]
            place -= 1
    return offsets, ids


@compiled()
def deep_nodes(parents, nodes, shallow):
    """The deep nodes, those with fewer words first."""
    depths = np.zeros(nodes, np.int32)
    deepest = 0
    for node in range(1, nodes):  # a parent has a lower number than its children
        depths[node] = depths[parents[node]] + 1
        deepest = max(deepest, depths[node])
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
def link(order, roots, keys, children, parents, words, nodes, shallow):
    """[n] for each deep node the longest proper suffix of its words that is a node of at least
    `shallow` words; 0: there is none. `order` holds the deep nodes, those with fewer words first.
    """
    links = np.zeros(nodes, np.int32)
    recent = np.empty(shallow, np.int32)
    for node in order:
        word = words[node]
        state = links[parents[node]]
        found = 0
        while state != 0:
            if _is_next(state, word, parents, words, nodes):
                found = state + 1
            else:
                found = _child_of(state, word, keys, children)
            if found != 0:
                break
            state = links[state]
        if found == 0:  # a suffix of `shallow` words is all that is left
            above = node
            for place in range(shallow - 1, -1, -1):
                recent[place] = words[above]
                above = parents[above]
            found = roots[recent[0]]
            for place in range(1, shallow):
                if found == 0:
                    break
                found = _child_of(found, recent[place], keys, children)
        links[node] = found
    return links


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
def walk(ids, offsets, owners, roots, keys, children, shallow, deep, total, users, last):
    """Count from each place on the nodes of up to `shallow` words; `last` keeps each node's last
    owner. If there are `deep` nodes, return the places (place << 32 | node) from which `shallow`
    words match and the document goes on.
    """
    starts = np.empty(len(ids) if deep else 0, np.int64)
    size = 0
    for document in range(len(owners)):
        owner = owners[document]
        stop = offsets[document + 1]
        for begin in range(offsets[document], stop):
            node = roots[ids[begin]]
            place = begin + 1
            while node != 0:
                total[node] += 1
                if last[node] != owner:
                    last[node] = owner
                    users[node] += 1
                if place == stop:
                    break
                if place == begin + shallow:
                    if deep:
                        starts[size] = (np.int64(begin) << 32) | node
                        size += 1
                    break
                node = _child_of(node, ids[place], keys, children)
                place += 1
    return starts[:size].copy()


@compiled()
def follow(
    starts, ids, offsets, owners, keys, children, parents, words, links, ranks, shallow, total, last
):  # fmt: skip
    """Read on from `starts`, the places that `walk` returned, while a deep node matches: one more
    in `total` for the longest at each word. Return the distinct pairs (owner << 32 | rank) of the
    nodes visited, in the order of the text.
    """
    pairs = np.empty(len(ids), np.int64)  # each word is read once at most
    size = 0
    document = 0
    resume = 0  # no deep node matches from an earlier place to where the automaton stopped
    for start in starts:
        begin, state = start >> 32, start & 0xFFFFFFFF
        if begin < resume:
            continue
        while begin >= offsets[document + 1]:
            document += 1
        owner = owners[document]
        place = begin + shallow
        while place < offsets[document + 1]:
            word = ids[place]
            place += 1
            found = 0
            while state != 0:
                if _is_next(state, word, parents, words, len(links)):
                    found = state + 1
                else:
                    found = _child_of(state, word, keys, children)
                if found != 0:
                    break
                state = np.int64(links[state])
            state = found
            if state == 0:
                break
            total[state] += 1
            if last[state] != owner:
                last[state] = owner
                pairs[size] = (np.int64(owner) << 32) | ranks[state]
                size += 1
        resume = place - shallow
    return pairs[:size].copy()


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
