"""From the options of `train` to its settings: a preset, what was given instead, a mitigation."""

from dataclasses import replace

from leakscope.commands.command_settings import TrainChoices
from leakscope.commands.given import Given
from leakscope.commands.option_tables import command_options
from leakscope.models.word.architecture import DEFAULT_PRESET, PRESETS, Architecture
from leakscope.records.errors import LeakscopeError
from leakscope.training.mitigations.plain_settings import PlainSettings
from leakscope.training.mitigations.registry import registered
from leakscope.training.train_settings import TrainSettings


def train_settings(given: Given, chosen: TrainChoices) -> TrainSettings:
    """The settings of a training: those of a `TrainSettings` object or else of a preset, with what
    was given instead.
    """
    known = given.object_of(TrainSettings)
    preset = preset_of(chosen)
    changes, shape = given.fields_of(TrainSettings), given.fields_of(Architecture)
    kind = registered(chosen.mitigation).settings
    _check_mitigation(given, chosen)
    if kind is not PlainSettings:
        for name in given.fields_of(kind):
            changes.pop(name, None)  # such as the clip: the mitigation's own is meant
        if kind.dropout is not None:
            shape.setdefault("dropout", kind.dropout)
        changes["mitigation"] = given.make(kind)
    before = PRESETS[preset].architecture if known is None else known.architecture
    architecture = replace(given.object_of(Architecture) or before, **shape)
    if architecture.kind == "transformer" and (known is None or architecture != before):
        changes.setdefault("max_words", architecture.context)
    changes["architecture"] = architecture
    if known is not None:
        return replace(known, **changes)
    return TrainSettings.from_preset(preset, **changes)


def preset_of(chosen: TrainChoices) -> str:
    """The name of the preset: the one that was given, or the architecture's usual one."""
    name = chosen.preset or DEFAULT_PRESET[chosen.arch or "lstm"]
    if name not in PRESETS:
        raise LeakscopeError(f"There is no preset {name}; choose from {', '.join(PRESETS)}.")
    if chosen.arch is not None and PRESETS[name].architecture.kind != chosen.arch:
        raise LeakscopeError(f"The preset {name} is no {chosen.arch}; leave out --arch.")
    return name


def _check_mitigation(given: Given, chosen: TrainChoices) -> None:
    """Refuse options of a mitigation that was not chosen, but for those that the chosen one has."""
    options = command_options("train")
    common = {
        option.name for option in options if option.part.mitigation in (None, chosen.mitigation)
    }
    for option in options:
        wanted = option.part.mitigation
        if wanted in (None, chosen.mitigation) or option.name in common:
            continue
        if option.name in given.options or given.object_of(option.part.record()) is not None:
            raise LeakscopeError(f"Options such as {option.spelled} need --mitigation {wanted}.")
