"""What a model's training has spent, as a `DpEvent` of dp-accounting, for accountants of others."""

import os
from pathlib import Path
from typing import Any

from leakscope.records.artifacts import read_json, write_json
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.audited_model import mitigation_of
from leakscope.records.models.dp_record import PrivacyRecord
from leakscope.records.models.model_config import ModelConfig
from leakscope.records.runs.run_manifest import open_run

try:
    from dp_accounting import dp_event as events
except ImportError:
    raise LeakscopeError(
        "dp-accounting is not installed; get it by pip install 'leakscope[dp]'."
    ) from None

_FIELDS = {
    "ComposedDpEvent": ("events",),
    "SelfComposedDpEvent": ("event", "count"),
    "PoissonSampledDpEvent": ("sampling_probability", "event"),
    "GaussianDpEvent": ("noise_multiplier",),
}
_MODULE = "dp_accounting.dp_event"


def dp_event(
    model: str | os.PathLike[str] | PrivacyRecord, out: str | os.PathLike[str] | None = None
) -> Any:
    """The `DpEvent` of a model directory, of a run of `report` or of a record: its steps, phase by
    phase, each a Gaussian mechanism on a Poisson sample. With `out`, also written there as JSON,
    in the words of the library's own `to_named_tuple`.
    """
    record = model if isinstance(model, PrivacyRecord) else _record_of(Path(model))
    event = events.ComposedDpEvent(
        [
            events.SelfComposedDpEvent(
                events.PoissonSampledDpEvent(
                    phase.rate, events.GaussianDpEvent(phase.noise_multiplier)
                ),
                phase.steps,
            )
            for phase in record.phases
        ]
    )
    if out is not None:
        told = {"unit": record.unit, "relation": record.relation, "delta": record.delta}
        write_json(Path(out), {**told, "epsilon": record.epsilon, "event": _plain(event)})
    return event


def event_of(plain: Any) -> Any:
    """The `DpEvent` of JSON that `dp_event` has written. Only the classes that it writes are made,
    whatever the file names.
    """
    try:
        name = plain["class_name"]
        given = {field: plain[field] for field in _FIELDS[name]}
        if "events" in given:
            given["events"] = [event_of(each) for each in given["events"]]
        if "event" in given:
            given["event"] = event_of(given["event"])
    except (KeyError, TypeError):
        raise LeakscopeError("This is no DpEvent that leakscope has written.") from None
    return getattr(events, name)(**given)


def _plain(event: Any) -> dict[str, Any]:
    name = type(event).__name__
    found: dict[str, Any] = {"module_name": _MODULE, "class_name": name}
    for field in _FIELDS[name]:
        value = getattr(event, field)
        if field == "events":
            value = [_plain(each) for each in value]
        found[field] = _plain(value) if field == "event" else value
    return found


def _record_of(path: Path) -> PrivacyRecord:
    if (path / "manifest.json").exists():
        found = mitigation_of(open_run(path)[0].model)
    else:
        found = read_json(path / "config.json", ModelConfig, "a model").mitigation
    if not isinstance(found, PrivacyRecord):
        raise LeakscopeError(f"{path} tells of no training with differential privacy.")
    return found
