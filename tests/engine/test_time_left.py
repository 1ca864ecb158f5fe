"""The time that is left, over all stages of a plan."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.engine.progress import silent
from leakscope.engine.time_left import PlannedStage, TimeLeft, expect


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def plan(*pairs):
    return [PlannedStage(name, weight) for name, weight in pairs]


def test_what_is_left_costs_what_the_rest_did():
    clock = Clock()
    left = TimeLeft(plan(("score", 60), ("count", 30), ("write", 10)), clock)
    assert left.seconds() is None
    left.told("score", 0, 4)
    clock.now += 20
    left.told("score", 2, 4)  # 30 of 100 in 20 seconds
    assert left.seconds() == pytest.approx(70 / 30 * 20)
    clock.now += 20
    left.told("score", 4, 4)
    left.told("count", 0, 1)
    assert left.seconds() == pytest.approx(40 / 60 * 40)
    clock.now += 20
    left.told("count", 1, 1)
    left.told("write", 1, 1)
    assert left.seconds() == 0


def test_what_was_kept_is_no_work():
    clock = Clock()
    left = TimeLeft(plan(("score", 80), ("write", 20)), clock)
    left.told("score", 6, 8)  # six pieces are there already
    clock.now += 10
    left.told("score", 7, 8)
    assert left.seconds() == pytest.approx(30 / 10 * 10)


def test_stages_of_one_name_come_one_after_the_other():
    clock = Clock()
    left = TimeLeft(plan(("train", 10), ("train", 10), ("score", 20)), clock)
    for _ in range(2):
        left.told("train", 0, 5)
        clock.now += 4
        left.told("train", 3, 5)
        clock.now += 4
        left.told("train", 5, 5)
        left.told("train", 5, 5)
    assert left.seconds() == pytest.approx(16)


def test_stages_that_are_passed_over_are_no_work_either():
    clock = Clock()
    left = TimeLeft(plan(("train", 1000), ("score", 10), ("other", 10)), clock)
    left.told("score", 0, 2)
    clock.now += 5
    left.told("score", 2, 2)
    left.told("unheard of", 1, 2)
    left.told("other", 0, None)
    assert left.seconds() == pytest.approx(5)


@given(st.lists(st.floats(0.1, 100), min_size=1, max_size=6), st.integers(1, 5))
def test_it_falls_to_nothing_where_all_stages_are_as_quick_as_planned(weights, parts):
    clock, total = Clock(), sum(weights)
    left = TimeLeft(plan(*((str(n), weight) for n, weight in enumerate(weights))), clock)
    passed = 0.0
    for number, weight in enumerate(weights):
        left.told(str(number), 0, parts)
        for part in range(parts):
            clock.now += weight / parts
            passed += weight / parts
            left.told(str(number), part + 1, parts)
            said = left.seconds()
            assert said is None or said == pytest.approx(total - passed, abs=1e-6)
            assert said is not None or passed < 3.0 + 1e-6 or passed < 0.0101 * total


def test_only_those_are_told_who_want_to_know():
    expect(silent, plan(("score", 1)))  # nothing happens

    class Watching:
        def __call__(self, stage, done, total=None, note=""):
            pass

        def expect(self, stages):
            self.stages = stages

    watching = Watching()
    expect(watching, plan(("score", 1)))
    assert watching.stages == plan(("score", 1))
