"""An epsilon is shown only if the steps that its record tells of spend no more than that."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from leakscope.records.errors import LeakscopeError
from leakscope.records.models.dp_record import PrivacyRecord, SpentSteps
from leakscope.training.dp.accounting.relations import Relation

CONTRADICTION = (
    "the record of the training contradicts itself: its steps spend more than the DP epsilon that "
    "it tells, so the file is damaged or was changed"
)
NOT_INSTALLED = (
    "the DP epsilon could not be recomputed from the steps, because dp-accounting is not "
    "installed; get it by pip install 'leakscope[dp]'"
)
_EXACT, _CLOSE = 1 + 1e-9, 1 + 1e-3
"""By how much the values of two machines, and of two versions of the accountant, may differ."""


@dataclass(frozen=True)
class CheckedRecord:
    """A record whose epsilons may be shown."""

    record: PrivacyRecord
    damaged: bool = False
    """Whether epsilons were taken out because the steps spend more."""
    unchecked: str | None = None
    """Why they could not be recomputed."""


def checked(record: PrivacyRecord) -> CheckedRecord:
    """The record with epsilons that its own steps bear out, at its delta; of two values that differ
    by no more than accountants do, the greater. The first call in a process takes a second or two,
    later ones some 0.1 s.
    """
    if record.epsilon is None and record.replace_one_epsilon is None:
        return CheckedRecord(record)
    try:
        import leakscope.training.dp.accounting.accountant  # noqa: F401, PLC0415
    except LeakscopeError:
        return CheckedRecord(record, unchecked=NOT_INSTALLED)
    one = _borne_out(record.epsilon, record, record.relation)
    two = _borne_out(record.replace_one_epsilon, record, "replace-one")
    if record.steps != sum(phase.steps for phase in record.phases):
        one = two = None
    if (one is None) == (record.epsilon is None) and (two is None) == (
        record.replace_one_epsilon is None
    ):
        return CheckedRecord(record.model_copy(update={"epsilon": one, "replace_one_epsilon": two}))
    nothing = {"epsilon": None, "replace_one_epsilon": None, "reason": CONTRADICTION}
    return CheckedRecord(record.model_copy(update=nothing), damaged=True)


def _borne_out(told: float | None, record: PrivacyRecord, relation: Relation) -> float | None:
    """The epsilon to show; None: the steps spend more than `told`, or cannot be accounted."""
    if told is None:
        return None
    found = _recomputed(_plain(record.phases), record.delta, relation)
    if found is None or found > told * _CLOSE:
        return None
    return told if found <= told * _EXACT else found


def _plain(phases: Sequence[SpentSteps]) -> tuple[tuple[float, float, int], ...]:
    return tuple((phase.noise_multiplier, phase.rate, phase.steps) for phase in phases)


@lru_cache(maxsize=256)
def _recomputed(
    phases: tuple[tuple[float, float, int], ...], delta: float, relation: Relation
) -> float | None:
    from leakscope.training.dp.accounting.accountant import spent  # noqa: PLC0415
    from leakscope.training.dp.accounting.phases import Phase  # noqa: PLC0415

    try:
        return spent([Phase(*phase) for phase in phases], delta, relation).epsilon
    except LeakscopeError:  # no rate, noise or delta that there can be
        return None
