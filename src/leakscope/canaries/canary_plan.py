"""What measuring canaries will cost, so that the time that is left over all of it can be told."""

from dataclasses import dataclass

from leakscope.canaries.canary_settings import AttackSettings, ExposureSettings
from leakscope.canaries.random_space import RandomSpace
from leakscope.engine.time_left import PlannedStage
from leakscope.records.errors import LeakscopeError

SCORE, FIT, ATTACK, BEAM = "score", "fit", "attack", "beam"
FITTED = 0.02
"""A sample, in one resample of a fit, costs so many words of a text that is scored."""


@dataclass(frozen=True)
class SpaceWork:
    """What has to be done for the canaries of one random space."""

    rows: int
    """Texts that are scored."""
    words: int
    """Of each text."""
    samples: int
    """Texts that a distribution is fitted to; 0: there is no fit."""


def space_work(space: RandomSpace, canaries: int, how: ExposureSettings) -> SpaceWork:
    """Of a space with so many canaries."""
    words = len(space.columns)
    if is_enumerated(space, how):
        return SpaceWork(space.size, words, 0)
    return SpaceWork(how.samples + canaries, words, how.samples)


def is_enumerated(space: RandomSpace, how: ExposureSettings) -> bool:
    """Whether all texts of a space are scored. Raise if it is too small to be sampled."""
    if how.method == "sample":
        if space.size < how.samples:
            raise LeakscopeError(
                f"The random space has {space.size} texts, fewer than the {how.samples} "
                "samples; give --method exact, or fewer --samples."
            )
        return False
    if how.method == "exact" or space.size <= how.samples:
        return True
    return space.size <= how.exact_up_to


def exposure_stages(work: list[SpaceWork], how: ExposureSettings) -> list[PlannedStage]:
    """Of `canary exposure`."""
    found = []
    for each in work:
        found.append(PlannedStage(SCORE, each.rows * each.words))
        if each.samples:
            found.append(PlannedStage(FIT, FITTED * each.samples * how.bootstrap))
    return found


def attack_stages(canaries: int, how: AttackSettings) -> list[PlannedStage]:
    """Of `canary attack`, with so many canaries."""
    beams = [PlannedStage(BEAM, how.beam * canaries)] if how.beam > 1 else []
    return [PlannedStage(ATTACK, canaries), *beams]
