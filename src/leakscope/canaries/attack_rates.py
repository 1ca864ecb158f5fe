"""How often an attack on canaries succeeds."""

from collections import defaultdict
from collections.abc import Sequence

from scipy import stats

from leakscope.records.canaries.exposure_record import AttackRate, CanaryAttack


def rates_of(results: Sequence[CanaryAttack]) -> list[AttackRate]:
    """Shares of whole reconstructions by state, class, repetitions and attack, with their 95 %
    Clopper-Pearson intervals.
    """
    groups: dict[tuple[str, str, int], dict[str, list[bool]]] = defaultdict(
        lambda: {"greedy": [], "beam": []}
    )
    for each in results:
        mine = groups[each.state, each.frequency or "", each.repetitions]
        for attack, outcome in (("greedy", each.greedy), ("beam", each.beam)):
            if outcome is not None:
                mine[attack].append(outcome)
    found = []
    for (state, frequency, repetitions), attacks in sorted(groups.items()):
        for attack, outcomes in attacks.items():
            if not outcomes:
                continue
            interval = stats.binomtest(sum(outcomes), len(outcomes)).proportion_ci(0.95, "exact")
            found.append(
                AttackRate(
                    state=state,
                    frequency=frequency or None,
                    repetitions=repetitions,
                    attack=attack,
                    attacked=len(outcomes),
                    reconstructed=sum(outcomes),
                    rate=sum(outcomes) / len(outcomes),
                    low=float(interval.low),
                    high=float(interval.high),
                )
            )
    return found
