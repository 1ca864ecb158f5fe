"""q-values worked out on paper, their properties, and whether they keep their rate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.leakage.chance.q_values import least_list, q_values

scores = st.lists(st.integers(0, 8).map(float), min_size=1, max_size=30)


def of(targets, decoys, scale):
    return q_values(
        np.array(targets, np.float64), np.array(decoys, np.float64),
        np.full(len(decoys), float(scale)), float(scale),
    )  # fmt: skip


def test_worked_out_on_paper():
    # Lengths of ten targets, of two decoys; half as much held-out text, so that each stands for 2.
    # bar  targets  decoys  rate
    #  9      2       0     2 x 1 / 2  = 1
    #  7      5       0     2 x 1 / 5  = 0.4
    #  4      8       1     2 x 2 / 8  = 0.5
    #  2     10       2     2 x 3 / 10 = 0.6
    targets = [9, 9, 7, 7, 7, 4, 4, 4, 2, 2]
    found = of(targets, [5, 3], 2)
    assert found.tolist() == pytest.approx([0.4] * 5 + [0.5] * 3 + [0.6] * 2)


def test_decoys_may_weigh_differently():
    found = q_values(np.array([3.0, 2.0, 1.0]), np.array([2.5, 1.5]), np.array([0.25, 0.5]), 0.5)
    assert found.tolist() == pytest.approx([0.75 / 2, 0.75 / 2, 1.25 / 3])


def plain(targets, decoys, scale):
    """By the definition: the least rate of all bars that let a target pass."""
    found = []
    for target in targets:
        rates = [
            scale * (sum(d >= bar for d in decoys) + 1) / sum(t >= bar for t in targets)
            for bar in targets
            if bar <= target
        ]
        found.append(min(1.0, *rates))
    return found


@given(scores, st.lists(st.integers(0, 8).map(float), max_size=20), st.floats(0.1, 12))
def test_equals_the_definition(targets, decoys, scale):
    found = of(targets, decoys, scale)
    assert found.tolist() == pytest.approx(plain(targets, decoys, scale))


@given(scores, st.lists(st.integers(0, 8).map(float), max_size=20), st.floats(0.1, 12))
def test_monotone_and_never_0(targets, decoys, scale):
    found = of(targets, decoys, scale)
    assert ((found > 0) & (found <= 1)).all()
    order = np.argsort(targets, kind="stable")
    assert (np.diff(found[order]) <= 1e-12).all()
    assert (of(targets, [*decoys, 4.0], scale) >= found - 1e-12).all()


weighed = st.lists(st.tuples(st.integers(0, 8), st.floats(0.1, 12)), max_size=20)


def twice(decoys):
    """What twice the held-out text shows in expectation: as many again, each for half as much."""
    found = np.array([*decoys, *decoys], np.float64).reshape(-1, 2)
    return found[:, 0], found[:, 1] / 2


@given(scores, weighed, st.floats(0.1, 12))
def test_twice_the_decoys_at_half_the_weight_are_the_same(targets, decoys, more):
    once, weights = np.array(decoys, np.float64).reshape(-1, 2).T
    found = q_values(np.array(targets), once, weights, more)
    doubled = q_values(np.array(targets), *twice(decoys), more)
    assert doubled.tolist() == pytest.approx(found.tolist())
    # The decoy that was not seen weighs less where more is held out: q is less, by no more than it.
    less = q_values(np.array(targets), *twice(decoys), more / 2)
    assert ((found / 2 - 1e-12 <= less) & (less <= found + 1e-12)).all()


@given(st.integers(0, 8), weighed, st.floats(0.1, 12))
def test_the_expected_false_targets_do_not_change_with_the_held_out_text(bar, decoys, more):
    """Those above a bar but for the decoy that was not seen, from lists too long for a q of 1."""
    once, weights = np.array(decoys, np.float64).reshape(-1, 2).T
    targets = np.full(300, float(bar))

    def false(decoys, weights, more):
        return len(targets) * q_values(targets, decoys, weights, more)[0] - more

    assert false(once, weights, more) == pytest.approx(weights[once >= bar].sum())
    assert false(*twice(decoys), more / 2) == pytest.approx(false(once, weights, more))


def test_no_decoys_confirm_a_list_only_if_it_is_long_enough():
    assert least_list(9.0, 0.05) == 180
    assert of([3.0] * 180, [], 9)[0] <= 0.05 < of([3.0] * 179, [], 9)[0]


@pytest.mark.parametrize(
    ("false", "true", "scale"), [(300, 0, 9), (40, 0, 1), (100, 300, 4), (1000, 2000, 9)]
)
def test_the_rate_is_kept(false, true, scale):
    """Simulated: scores of false targets and decoys have one distribution, true ones are larger."""
    rng = np.random.default_rng(0)
    shares, found = [], 0
    for _ in range(200):
        wrong = rng.standard_normal(rng.poisson(false))
        targets = np.concatenate([wrong, 3 + rng.standard_normal(true)])
        decoys = rng.standard_normal(rng.poisson(false / scale))
        listed = of(targets, decoys, scale) <= 0.05
        shares.append(listed[: len(wrong)].sum() / max(1, listed.sum()))
        found += listed[len(wrong) :].sum()
    assert np.mean(shares) <= 0.055
    assert found > 0.8 * 200 * true or not true
