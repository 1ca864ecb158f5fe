"""Steps of a plan, told by the stages inside of them."""

from leakscope.engine.step_progress import StepProgress
from leakscope.engine.time_left import expect


class Outer:
    def __init__(self):
        self.shares, self.plans, self.stages = [], [], []

    def expect(self, stages):
        self.plans.append(stages)

    def within(self, stage, share):
        self.shares.append((stage, share))

    def __call__(self, stage, done, total=None, note=""):
        self.stages.append((stage, done, total))


def test_a_step_is_as_far_as_its_longest_stage():
    outer = Outer()
    inner = StepProgress(outer, ("train",))
    inner("read", 1, 2)  # before any step
    inner.begin("step 0")
    expect(inner, [])  # the plan of a step is not that of the whole
    inner("read", 0, 2)
    inner("read", 2, 2)
    inner("train", 1, 4)
    inner.end()
    inner.begin("step 1")
    inner.end()  # kept
    assert outer.shares == [("step 0", 0.0), ("step 0", 0.25), ("step 0", 1.0), ("step 1", 1.0)]
    assert outer.plans == [] and len(outer.stages) == 4


def test_nobody_has_to_want_shares():
    told = []
    inner = StepProgress(lambda *words: told.append(words))
    inner.begin("step 0")
    inner("read", 1, 2, "note")
    inner.end()
    assert told == [("read", 1, 2, "note")]
