"""After which steps of a private training its snapshots fall, and which never come."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """The steps of a training."""

    total: int
    """Steps in the weights at the end."""
    due: dict[int, tuple[str, ...]]
    """The names of snapshots, by the steps in the weights; several may fall on one step."""
    missed: dict[str, str]
    """The names of snapshots that will not be taken, each with the reason in one sentence. After a
    resume, those that were taken before it are among them."""


def scheduled(
    wanted: Sequence[float],
    *,
    done: int,
    left: int,
    steps_left: Callable[[float], int],
    epsilon_after: Callable[[int], float],
) -> Schedule:
    """Where snapshots at the epsilons `wanted` fall in a training of `left` more steps whose
    weights hold `done`.

    `steps_left(epsilon)` more steps, at most `left + 1`, stay within an epsilon, counting all that
    is spent; after `n` more, `epsilon_after(n)` is spent.
    """
    due: dict[int, tuple[str, ...]] = {}
    missed: dict[str, str] = {}
    for epsilon in wanted:
        name, more = snapshot_name(epsilon), steps_left(epsilon)
        if more > left:
            ends = f"the training ends at epsilon {_rounded_up(epsilon_after(left))}"
            missed[name] = f"No snapshot at epsilon {_plain(epsilon)}: {ends}."
        elif more or (done and epsilon_after(0) <= epsilon):
            # None left, but within: a crash came between the last step and its snapshot.
            due[done + more] = (*due.get(done + more, ()), name)
        else:
            missed[name] = _passed(epsilon, epsilon_after)
    return Schedule(done + left, due, missed)


def snapshot_name(epsilon: float) -> str:
    """The folder of the snapshot at an epsilon; another for every other epsilon."""
    return f"epsilon-{_plain(epsilon)}"


def _plain(epsilon: float) -> str:
    short = f"{epsilon:g}"
    return short if float(short) == epsilon else repr(epsilon)


def _passed(epsilon: float, epsilon_after: Callable[[int], float]) -> str:
    """Why a snapshot cannot be taken any more."""
    before = epsilon_after(0)
    if not before:
        why = f"the first step spends {_rounded_up(epsilon_after(1))}"
    elif before > epsilon:
        why = f"{_rounded_up(before)} is spent already, steps lost in crashes included"
    else:  # before the first checkpoint
        why = (
            f"{_rounded_up(before)} is spent on steps that a crash has lost, and one more spends "
            f"{_rounded_up(epsilon_after(1))}"
        )
    return f"No snapshot at epsilon {_plain(epsilon)}: {why}."


def _rounded_up(epsilon: float) -> str:
    if math.isinf(epsilon):
        return "more than any number"
    return f"{math.ceil(epsilon * 1000) / 1000:g}" if epsilon < 1000 else f"{math.ceil(epsilon)}"
