"""All compiled code that reads or grows a trie, and what it needs of Aho and Corasick's automaton.

It stands in one file because machine code is kept per file. `Trie` and `SuffixLinks` say what the
arrays hold. A node's words are its sequence; a node is deep when it has more than `shallow` words.
"""

import numpy as np

from leakscope.engine.compiled import compiled

# Kernels have no annotations: numba takes the types from the arguments.
# mypy: disable-error-code="no-untyped-def"
# ruff: noqa: ANN001, ANN201, ANN202

PLACES_AT_ONCE = 1024  # of a walk: their state stays in the nearest cache


@compiled(inline="always")
def _mixed(edge):
    """A multiplicative hash of an edge, whose high bits are the best ones."""
    return np.uint64(edge) * np.uint64(0x9E3779B97F4A7C15)


@compiled(inline="always")
def _slot_of(mixed, mask):
    """Where the search for an edge begins: its hash, the high bits mixed down."""
    return np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(mask))


@compiled(inline="always")
def _child_of(node, word, slots, edges):
    """Where `word` leads from `node`, which is not the root; 0: nowhere."""
    mask = len(slots) - 1
    edge = (np.int64(node) << 32) | word
    slot = _slot_of(_mixed(edge), mask)
    while slots[slot] != 0 and edges[slots[slot]] != edge:
        slot = (slot + 1) & mask
    return slots[slot]


@compiled(inline="always")
def _is_next(node, word, edges, nodes):
    """Whether `word` leads from `node` to the next number: that spares a look into the table."""
    return node + 1 < nodes and edges[node + 1] == (np.int64(node) << 32) | word


@compiled(inline="always")
def _mark_of(mixed, marks):
    """The place among `marks` of the bit for an edge, and that bit."""
    bit = mixed >> np.uint64(32)
    return np.int64((bit >> np.uint64(6)) & np.uint64(len(marks) - 1)), bit & np.uint64(63)


@compiled()
def insert(ids, offsets, roots, slots, marks, edges, nodes):
    """[s] the node of each sequence, and how many nodes there are now."""
    ends = np.zeros(len(offsets) - 1, np.int32)
    mask = len(slots) - 1
    for i in range(len(offsets) - 1):
        node, place, end = np.int64(0), offsets[i], offsets[i + 1]
        if place < end:
            node = np.int64(roots[ids[place]])
            if node == 0:
                roots[ids[place]] = nodes
                edges[nodes] = ids[place]
                node = np.int64(nodes)
                nodes += 1
            place += 1
        while place < end:
            if _is_next(node, ids[place], edges, nodes):
                child = node + 1
            else:
                child = np.int64(_child_of(node, ids[place], slots, edges))
            if child == 0:
                break
            node = child
            place += 1
        # What is left is new, and so is each node's number: nothing is read from the table that the
        # next word would have to wait for.
        while place < end:
            edge = (node << 32) | ids[place]
            mixed = _mixed(edge)
            slot = _slot_of(mixed, mask)
            while slots[slot] != 0:
                slot = (slot + 1) & mask
            slots[slot] = nodes
            at, bit = _mark_of(mixed, marks)
            marks[at] |= np.uint64(1) << bit
            edges[nodes] = edge
            node = np.int64(nodes)
            nodes += 1
            place += 1
        ends[i] = node
    return ends, nodes


@compiled()
def rehash(edges, nodes, roots, slots, marks):
    """Put all edges into an empty table, and those of the root into its own."""
    mask = len(slots) - 1
    for node in range(1, nodes):
        edge = edges[node]
        if edge >> 32 == 0:
            roots[edge] = node
        else:
            mixed = _mixed(edge)
            slot = _slot_of(mixed, mask)
            while slots[slot] != 0:
                slot = (slot + 1) & mask
            slots[slot] = node
            at, bit = _mark_of(mixed, marks)
            marks[at] |= np.uint64(1) << bit


@compiled()
def find(ids, offsets, roots, slots, edges):
    """[s] the node of each sequence; 0: there is none."""
    ends = np.zeros(len(offsets) - 1, np.int32)
    for i in range(len(offsets) - 1):
        node = np.int32(0)
        if offsets[i] < offsets[i + 1]:
            node = roots[ids[offsets[i]]]
        for place in range(offsets[i] + 1, offsets[i + 1]):
            if node == 0:
                break
            node = _child_of(node, ids[place], slots, edges)
        ends[i] = node
    return ends


@compiled()
def link(order, roots, slots, edges, nodes, shallow):
    """[n] for each deep node the longest proper suffix of its words that is a node of at least
    `shallow` words; 0: there is none. `order` holds the deep nodes, those with fewer words first.
    """
    links = np.zeros(nodes, np.int32)
    recent = np.empty(shallow, np.int64)
    for node in order:
        word = edges[node] & 0xFFFFFFFF
        state = links[edges[node] >> 32]
        found = 0
        while state != 0:
            if _is_next(state, word, edges, nodes):
                found = state + 1
            else:
                found = _child_of(state, word, slots, edges)
            if found != 0:
                break
            state = links[state]
        if found == 0:  # a suffix of `shallow` words is all that is left
            above = np.int64(node)
            for place in range(shallow - 1, -1, -1):
                recent[place] = edges[above] & 0xFFFFFFFF
                above = edges[above] >> 32
            found = roots[recent[0]]
            for place in range(1, shallow):
                if found == 0:
                    break
                found = _child_of(found, recent[place], slots, edges)
        links[node] = found
    return links


@compiled(inline="always")
def _note_documents(first, end, document, offsets, owners, stops, seen):
    """For each place from `first` to `end` where its document stops, and 1 + its owner; the number
    of the last document, where the search for them begins at `document`.
    """
    place = first
    while place < end:
        while offsets[document + 1] <= place:
            document += 1
        stop = min(end, offsets[document + 1])
        stops[place - first : stop - first] = offsets[document + 1]
        seen[place - first : stop - first] = np.int64(owners[document]) + 1
        place = stop
    return document


@compiled(inline="always")
def _matched(first, stop, roots, ids, nodes, places):
    """The places from `first` to `stop` whose word the root has, and its nodes; how many."""
    size = 0
    for place in range(first, stop):
        node = np.int64(roots[ids[place]])
        nodes[size] = node
        places[size] = place
        size += node != 0
    return size


@compiled()
def walk(ids, offsets, owners, roots, slots, marks, edges, shallow, deep, tallies):
    """Count from each place on the nodes of up to `shallow` words in `tallies`. If there are `deep`
    nodes, return the places (place << 32 | node) from which `shallow` words match and the document
    goes on.

    Many places go on word by word together: what one of them waits for from memory does not keep
    the others. A node is met in the order of the text all the same, for all its sequences have one
    length.
    """
    starts = np.empty(len(ids) if deep else 0, np.int64)
    found = 0
    mask = len(slots) - 1
    nodes = np.empty(PLACES_AT_ONCE, np.int64)
    places = np.empty(PLACES_AT_ONCE, np.int64)  # of the first words
    wanted = np.empty(PLACES_AT_ONCE, np.int64)  # edges to look for
    searched = np.empty(PLACES_AT_ONCE, np.int64)  # slots
    stops = np.empty(PLACES_AT_ONCE, np.int64)  # by place within the block
    seen = np.empty(PLACES_AT_ONCE, np.int64)
    document = 0
    for block in range(0, len(ids), PLACES_AT_ONCE):
        end = min(block + PLACES_AT_ONCE, len(ids))
        document = _note_documents(block, end, document, offsets, owners, stops, seen)
        size = _matched(block, end, roots, ids, nodes, places)
        depth = 1
        while size:
            going = 0
            for i in range(size):
                node, place = nodes[i], places[i]
                tallies[2 * node] += 1
                # Written in any case: whether it is another owner is nothing that one could guess.
                tally, owner = tallies[2 * node + 1], seen[place - block]
                others = (tally >> 32) + np.int64(tally & 0xFFFFFFFF != owner)
                tallies[2 * node + 1] = (others << 32) | owner
                if place + depth >= stops[place - block]:
                    continue
                if depth == shallow:
                    if deep:
                        starts[found] = (place << 32) | node
                        found += 1
                    continue
                edge = (node << 32) | ids[place + depth]
                mixed = _mixed(edge)
                at, bit = _mark_of(mixed, marks)
                wanted[going] = edge
                searched[going] = _slot_of(mixed, mask)
                places[going] = place
                going += (marks[at] >> bit) & np.uint64(1) != 0
            for i in range(going):
                nodes[i] = slots[searched[i]]
            size = 0
            for i in range(going):
                node, slot = nodes[i], searched[i]
                while node != 0 and edges[node] != wanted[i]:
                    slot = (slot + 1) & mask
                    node = np.int64(slots[slot])
                nodes[size] = node
                places[size] = places[i]
                size += node != 0
            depth += 1
    return starts[:found].copy()


@compiled()
def follow(starts, ids, offsets, owners, slots, edges, links, ranks, shallow, tallies):
    """Read on from `starts`, the places that `walk` returned, while a deep node matches: one more
    in `tallies` for the longest at each word. Return the distinct pairs (owner << 32 | rank) of the
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
        owner = np.int64(owners[document])
        place = begin + shallow
        while place < offsets[document + 1]:
            word = ids[place]
            place += 1
            found = np.int64(0)
            while state != 0:
                if _is_next(state, word, edges, len(links)):
                    found = state + 1
                else:
                    found = np.int64(_child_of(state, word, slots, edges))
                if found != 0:
                    break
                state = np.int64(links[state])
            state = found
            if state == 0:
                break
            tallies[2 * state] += 1
            if tallies[2 * state + 1] != owner + 1:
                tallies[2 * state + 1] = owner + 1
                pairs[size] = (owner << 32) | ranks[state]
                size += 1
        resume = place - shallow
    return pairs[:size].copy()
