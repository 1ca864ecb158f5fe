"""The steps that a study of mitigations will have, and about what each costs, so that the time that
is left over all of them can be told.
"""

from collections.abc import Iterator, Sequence

from leakscope.engine.time_left import PlannedStage
from leakscope.leakage.report_plan import TRAINED

LONGEST = ("train", "score")
"""Stages that take nearly all of the step that they are in."""
BEST = "best"
"""The training that says what can be reached."""
# Costs in passes of the model over a word.
PLANTED, REPORTED, ATTACKED = 0.5, 1.3, 0.02
CANARY_WORDS = 5


def step_name(number: int) -> str:
    """Of a step, in the order in which they are made."""
    return f"step {number}"


def study_stages(
    words: int, epochs: Sequence[int], seeds: int, targets: int, samples: int, *, best: int | None
) -> list[PlannedStage]:
    """Of a corpus with so many words, and trainings with so many epochs each. `best`: the epochs of
    the training that says what can be reached, if there is to be one.
    """
    found = [] if best is None else [PlannedStage(BEST, TRAINED * best * words)]
    weights = [weight for _ in range(seeds) for weight in _of_seed(words, epochs, targets, samples)]
    return found + [PlannedStage(step_name(place), each) for place, each in enumerate(weights)]


def _of_seed(words: int, epochs: Sequence[int], targets: int, samples: int) -> Iterator[float]:
    yield PLANTED * words
    for times in epochs:
        yield TRAINED * times * words
    for _ in range(targets):
        yield float(words)
        for _ in epochs:
            yield REPORTED * words
            yield float(CANARY_WORDS * samples)
            yield ATTACKED * words
