"""Which settings records each command takes. Their fields are the command's options; a new field is
a new option, without another line here or in `cli`.
"""

from collections.abc import Iterator
from dataclasses import MISSING, fields, replace
from functools import cache

from leakscope.commands.options import Option, Part, options_of
from leakscope.models.word.architecture import Architecture, Preset

_REPORT = (
    Part("leakscope.records.runs.report_settings:ReportSettings", "What to measure"),
    Part("leakscope.auditing.running_settings:UserChoice", "What to measure"),
    Part("leakscope.auditing.public_settings:PublicSettings", "Public model"),
    Part("leakscope.auditing.running_settings:InterfaceSettings", "Hardening"),
    Part("leakscope.auditing.loading_settings:LoadingSettings", "Hugging Face models"),
    Part("leakscope.models.remote.endpoint:Endpoint", "Endpoints"),
    Part("leakscope.models.remote.endpoint:RequestLimits", "Endpoints"),
    Part("leakscope.auditing.running_settings:EndpointAccess", "Endpoints"),
    Part("leakscope.auditing.running_settings:RunningSettings", "Running it"),
)
_SHAPE = Part(
    "leakscope.models.word.architecture:Architecture",
    "The model's shape",
    without=("kind",),
    preset=tuple(each.name for each in fields(Architecture)),
)
_OF_PRESETS = tuple(each.name for each in fields(Preset))
_TRAIN = (  # and those of every mitigation
    Part("leakscope.commands.command_settings:TrainChoices", "The model's shape"),
    _SHAPE,
    Part(
        "leakscope.training.train_settings:TrainSettings",
        "Training",
        without=("architecture", "mitigation"),
        preset=_OF_PRESETS,
    ),
)
_STUDY_TRAININGS = (  # what all trainings of a study share
    Part(
        "leakscope.commands.command_settings:TrainChoices",
        "The model's shape",
        only=("arch", "preset", "threads"),
    ),
    _SHAPE,
    Part(
        "leakscope.training.train_settings:TrainSettings",
        "Training",
        without=(
            "architecture",
            "mitigation",
            "seed",
            "snapshot_steps",
            "until_perplexity",
        ),
        preset=_OF_PRESETS,
    ),
)
_SMALL = "leakscope.commands.command_settings"
_CANARY = "leakscope.canaries.canary_settings"
_ANY_MODEL = (  # how a model is opened, wherever it comes from
    Part("leakscope.auditing.loading_settings:LoadingSettings", "Hugging Face models"),
    Part("leakscope.models.remote.endpoint:Endpoint", "Endpoints"),
    Part("leakscope.models.remote.endpoint:RequestLimits", "Endpoints"),
    Part("leakscope.auditing.running_settings:EndpointAccess", "Endpoints"),
)
_PARTS: dict[str, tuple[Part, ...]] = {
    "demo": (Part(f"{_SMALL}:DemoSettings", "Options"),),
    "corpus build": (
        Part("leakscope.corpus.readers.input_settings:InputSettings", "Options"),
        Part("leakscope.corpus.build_settings:BuildSettings", "Options"),
        Part("leakscope.corpus.build_resources:BuildResources", "Options"),
    ),
    "corpus clean": (Part("leakscope.corpus.cleaning.clean_settings:CleanSettings", "Options"),),
    "completion": (),
    "corpus info": (),
    "corpus show": (Part(f"{_SMALL}:ShowSettings", "Options"),),
    "corpus synth": (Part("leakscope.corpus.synthetic.synth_settings:SynthSettings", "Options"),),
    "train": _TRAIN,
    "export": (Part(f"{_SMALL}:ExportSettings", "Options"),),
    "report": _REPORT,
    "compare": (Part(f"{_SMALL}:CompareSettings", "Options"),),
    "harden": (Part(f"{_SMALL}:HardenSettings", "Options"),),
    "person": (Part(f"{_SMALL}:PersonSettings", "Options"),),
    "render": (Part(f"{_SMALL}:RenderSettings", "Options"),),
    "suggest": (Part(f"{_SMALL}:SuggestSettings", "Options"),),
    "verify": (Part(f"{_SMALL}:VerifySettings", "Signatures"),),
    "probe": (
        Part(f"{_SMALL}:ProbeSettings", "Options"),
        Part(
            "leakscope.auditing.loading_settings:LoadingSettings",
            "Hugging Face models",
            only=("base", "device", "dtype"),
        ),
    ),
    "diff": (
        Part("leakscope.updates.diff_settings:DiffSettings", "The search"),
        Part(
            "leakscope.auditing.loading_settings:LoadingSettings",
            "Hugging Face models",
            only=("dtype", "base", "batch_tokens", "device"),
        ),
    ),
    "canary plant": (
        Part(f"{_CANARY}:PlantSettings", "Canaries"),
        Part("leakscope.corpus.readers.input_settings:InputSettings", "Data"),
        Part("leakscope.corpus.build_settings:BuildSettings", "Data", without=("seed",)),
    ),
    "canary exposure": (Part(f"{_CANARY}:ExposureSettings", "What to measure"), *_ANY_MODEL),
    "canary attack": (Part(f"{_CANARY}:AttackSettings", "The attack"), *_ANY_MODEL),
    "canary bound": (Part(f"{_CANARY}:BoundSettings", "The bound"), *_ANY_MODEL),
    "study mitigations": (
        Part("leakscope.studies.study_settings:StudySettings", "The study"),
        Part(
            f"{_CANARY}:PlantSettings",
            "Canaries",
            only=("template", "schedule", "users", "controls"),
        ),
        Part(
            f"{_CANARY}:ExposureSettings",
            "Canaries",
            only=("method", "samples", "exact_up_to", "bootstrap"),
        ),
        Part(f"{_CANARY}:AttackSettings", "Canaries", only=("given",)),
        *_STUDY_TRAININGS,
    ),
    "study updates": (
        Part("leakscope.studies.updates.update_settings:UpdateStudySettings", "The study"),
        Part(f"{_CANARY}:PlantSettings", "Canaries", only=("template", "phrase")),
        Part(
            "leakscope.updates.diff_settings:DiffSettings",
            "The search",
            only=("length", "width", "groups", "floor", "keep", "exact_rows"),
        ),
        *_STUDY_TRAININGS,
    ),
}


COMMANDS = tuple(_PARTS)


def all_parts() -> Iterator[Part]:
    """The settings records of all commands, those of mitigations last: they are looked up."""
    for parts in _PARTS.values():
        yield from parts
    yield from _mitigations()


@cache
def parts_of(command: str) -> tuple[Part, ...]:
    """The settings records of a command; of `train`, with those of all registered mitigations."""
    return _PARTS[command] + (_mitigations() if command == "train" else ())


def _mitigations() -> tuple[Part, ...]:
    from leakscope.training.mitigations.registry import MITIGATIONS

    found = [(kind, each.settings) for kind, each in MITIGATIONS.items() if fields(each.settings)]
    return tuple(
        Part(
            f"{record.__module__}:{record.__qualname__}",
            f"{record.title[0].upper()}{record.title[1:]} (--mitigation {kind})",
            mitigation=kind,
        )
        for kind, record in found
    )


@cache
def command_options(command: str) -> tuple[Option, ...]:
    """The options of a command, by groups; within a group, those of its own record come first."""
    found = [option for part in parts_of(command) for option in options_of(part)]
    groups = list(dict.fromkeys(part.group for part in parts_of(command)))
    groups += [option.group for option in found if option.group not in groups]
    return tuple(
        sorted(found, key=lambda one: (groups.index(one.group), one.group != one.part.group))
    )


@cache
def named_options(command: str) -> dict[str, Option]:
    """The options of a command by their names, in the order of help. Where a mitigation has one
    that all trainings have, its help tells of both.
    """
    found: dict[str, Option] = {}
    for option in command_options(command):
        first = found.setdefault(option.name, option)
        if first is not option:
            told = f"{first.help} With --mitigation {option.part.mitigation}: {option.help}"
            found[option.name] = replace(first, help=told, default=MISSING)
    return found
