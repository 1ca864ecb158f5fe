"""The order in which documents are removed, against trying all of them at every turn."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.hardening.removal_order import removal_order

pair_sets = st.sets(st.tuples(st.integers(0, 12), st.integers(0, 9)), max_size=60)


def plain(pairs, most):
    left, chosen, gone = set(pairs), [], 0
    held = {document: sorted(s for d, s in pairs if d == document) for document, _ in pairs}

    def worth(document):
        return sum(1 / sum(s == sequence for _, s in left) for sequence in held[document])

    while held and len(chosen) < most:
        document = min(held, key=lambda each: (-worth(each), each))
        mine = held.pop(document)
        left -= {(document, sequence) for sequence in mine}
        gone += sum(all(s != sequence for _, s in left) for sequence in mine)
        chosen.append((document, gone))
    return chosen


@given(pair_sets, st.integers(1, 15))
def test_it_is_that_of_the_plain_search(pairs, most):
    columns = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    assert removal_order(columns, most) == plain(pairs, most)


def test_a_large_run_is_ordered_in_no_time():
    rng = np.random.default_rng(0)
    drawn = np.stack([rng.integers(0, 20_000, 60_000), rng.integers(0, 30_000, 60_000)])
    pairs = np.unique(drawn, axis=1)
    order = removal_order(pairs, 10**9)
    assert len(order) == len(np.unique(pairs[0])) and order[-1][1] == len(np.unique(pairs[1]))
