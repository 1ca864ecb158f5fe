"""Where snapshots at epsilons fall, against counting step by step."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.training.dp.accounting.accountant import epsilon
from leakscope.training.dp.accounting.phases import Phase
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.privacy_plan import plan_of
from leakscope.training.dp.schedule import snapshot_name

COSTS = [0.0, *(epsilon(1.0, 0.3, steps, 1e-3) for steps in range(1, 26))]
"""Epsilon after so many steps."""


def test_snapshots_fall_on_the_last_step_within_their_epsilon():
    given = {"rate": 0.02, "noise_multiplier": 1.0, "delta": 1e-5}
    wanted = (0.01, 1.5, 3.0, 50.0)
    plan = plan_of(PrivacySettings(**given, snapshot_at_epsilon=wanted), 5000, 1000)
    found = plan.schedule((), 0, 1000)
    assert list(found.due.values()) == [("epsilon-1.5",), ("epsilon-3",)]
    for steps, wanted in zip(found.due, (1.5, 3.0), strict=True):
        assert epsilon(1.0, 0.02, steps, 1e-5) <= wanted < epsilon(1.0, 0.02, steps + 1, 1e-5)
    assert list(found.missed) == ["epsilon-0.01", "epsilon-50"]
    assert "No snapshot at epsilon 0.01: the first step spends" in found.missed["epsilon-0.01"]
    ends = np.ceil(1000 * epsilon(1.0, 0.02, 1000, 1e-5)) / 1000
    assert (
        f"No snapshot at epsilon 50: the training ends at epsilon {ends:g}."
        in (found.missed["epsilon-50"])
    )
    first = next(iter(found.due))
    later = plan.schedule([Phase(1.0, 0.02, first + 10)], first, 1000)
    assert list(later.due.values()) == [("epsilon-3",)]  # after a resume, counted from there
    assert "is spent already" in later.missed["epsilon-1.5"]
    lost = plan.schedule([Phase(1.0, 0.02, first)], 0, 1000)  # before any checkpoint
    assert "on steps that a crash has lost, and one more spends 1.50" in lost.missed["epsilon-1.5"]


@settings(max_examples=40)
@given(
    wanted=st.lists(
        st.one_of(st.floats(0.05, 4.0), st.sampled_from(COSTS[1:])), max_size=4, unique=True
    ),
    spent=st.integers(0, 12),
    done=st.integers(0, 12),
)
def test_a_schedule_is_what_counting_step_by_step_gives(wanted, spent, done):
    done, asked = min(done, spent), 12
    terms = {"rate": 0.3, "noise_multiplier": 1.0, "delta": 1e-3}
    plan = plan_of(PrivacySettings(**terms, snapshot_at_epsilon=tuple(sorted(wanted))), 50, asked)
    found = plan.schedule([Phase(1.0, 0.3, spent)] if spent else [], done, asked)
    for value in wanted:
        within = [
            steps
            for steps in range(done, asked + 1)
            if steps and COSTS[spent + steps - done] <= value < COSTS[spent + steps - done + 1]
        ]
        name = snapshot_name(value)
        assert [steps for steps, names in found.due.items() if name in names] == within
        assert (name in found.missed) == (not within)
        for steps in within:
            # What the snapshot itself will say.
            record = plan.record([Phase(1.0, 0.3, spent + steps - done)], steps, [])
            assert record.epsilon <= value


@given(st.lists(st.floats(1e-3, 1e6), min_size=2, unique=True))
def test_every_epsilon_has_a_folder_of_its_own(values):
    assert len({snapshot_name(value) for value in values}) == len(values)
    assert [snapshot_name(value) for value in (3.0, 0.5, 2.0000001)] == [
        "epsilon-3", "epsilon-0.5", "epsilon-2.0000001",
    ]  # fmt: skip


def test_a_snapshot_at_the_target_falls_on_the_end():
    given = {"rate": 0.02, "target_epsilon": 4.0, "delta": 1e-5}
    plan = plan_of(PrivacySettings(**given, snapshot_at_epsilon=(2.0, 4.0)), 5000, 1000)
    found = plan.schedule((), 0, 1000)
    assert found.due[1000] == ("epsilon-4",) and not found.missed
    lost = plan.schedule([Phase(plan.noise_multiplier, 0.02, 700)], 600, 1000)
    assert lost.due == {lost.total: ("epsilon-4",)} and lost.total < 1000
