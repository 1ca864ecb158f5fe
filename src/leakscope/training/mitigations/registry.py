"""All mitigations, a line each. Importing this is light, since help reads it: a mitigation's own
code is imported when a training with it begins, its record when one is read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from leakscope.records.errors import LeakscopeError
from leakscope.records.models.mitigation_settings import MitigationSettings
from leakscope.training.dp.dp_settings import LEDGER, PrivacySettings
from leakscope.training.mitigations.plain_settings import PLAIN, PlainSettings
from leakscope.training.regularizers.adversarial_settings import AdversarialSettings
from leakscope.training.regularizers.triplet_settings import TripletSettings

if TYPE_CHECKING:
    from leakscope.records.models.mitigation_record import MitigationRecord
    from leakscope.training.mitigations.mitigation import Mitigation, Workbench

Start = Callable[[Any, "Workbench"], "Mitigation"]
"""Makes a mitigation from its settings and what it works on."""


@dataclass(frozen=True)
class Registered:
    """A mitigation that trainings can be given."""

    settings: type[MitigationSettings]
    """Its `kind` is the mitigation's name."""
    record: Callable[[], "type[MitigationRecord]"]
    """Brings the class of what it writes into the model's config."""
    start: Start
    shared: bool = False
    """Whether several processes can share its steps."""
    keeps: tuple[str, ...] = ()
    """Files in a model's directory that stay when a killed training begins anew."""


def start_of(module: str) -> Start:
    """The function `start` of a module of this package, which is imported when it is called."""

    def start(settings: Any, bench: "Workbench") -> "Mitigation":
        made: Mitigation = import_module(f"{__package__}.{module}").start(settings, bench)
        return made

    return start


def record_of(module: str, name: str) -> Callable[[], "type[MitigationRecord]"]:
    """A class of `records.models`, which is imported when it is asked for."""

    def record() -> "type[MitigationRecord]":
        found: type[MitigationRecord]
        found = getattr(import_module(f"leakscope.records.models.{module}"), name)
        return found

    return record


MITIGATIONS: dict[str, Registered] = {
    each.settings.kind: each
    for each in (
        Registered(
            PlainSettings,
            record_of("mitigation_record", "PlainRecord"),
            start_of("plain"),
            shared=True,
        ),
        Registered(
            PrivacySettings,
            record_of("dp_record", "PrivacyRecord"),
            start_of("dp"),
            shared=True,
            keeps=(LEDGER,),
        ),
        Registered(
            AdversarialSettings,
            record_of("regularizer_records", "AdversarialRecord"),
            start_of("adversarial"),
        ),
        Registered(
            TripletSettings,
            record_of("regularizer_records", "TripletRecord"),
            start_of("triplet"),
        ),
    )
}


def registered(kind: str) -> Registered:
    """The mitigation of this name."""
    if kind not in MITIGATIONS:
        known = ", ".join(MITIGATIONS)
        raise LeakscopeError(f"There is no mitigation {kind}; choose from {known}.")
    return MITIGATIONS[kind]


def title_of(kind: str) -> str:
    """The name of a mitigation in sentences; of one that is not known here, its kind."""
    return MITIGATIONS[kind].settings.title if kind in MITIGATIONS else kind


def settings_from(record: Mapping[str, Any] | None) -> MitigationSettings:
    """The settings that a config gives as plain data, with their kind; None: plain training."""
    if record is None:
        return PLAIN
    from pydantic import TypeAdapter  # noqa: PLC0415

    kind = str(record.get("kind"))
    reader: TypeAdapter[MitigationSettings] = TypeAdapter(registered(kind).settings)
    return reader.validate_python({name: record[name] for name in record if name != "kind"})


def kept_files() -> tuple[str, ...]:
    """The files that any mitigation keeps when a killed training begins anew."""
    return tuple(name for each in MITIGATIONS.values() for name in each.keeps)
