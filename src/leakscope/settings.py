"""The settings classes: all that a command can be told, beside its arguments.

    from leakscope.settings import PublicSettings, ReportSettings

    leakscope.report("model", "corpus", "run", ReportSettings(top_k=3), PublicSettings("crossfit"))

Each field of a class is an option of the command line as well. The classes are imported when they
are first asked for; none of them brings torch along.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leakscope.commands.option_tables import all_parts

if TYPE_CHECKING:
    from leakscope.auditing.loading_settings import LoadingSettings
    from leakscope.auditing.public_settings import PublicSettings
    from leakscope.auditing.running_settings import (
        EndpointAccess,
        InterfaceSettings,
        RunningSettings,
        UserChoice,
    )
    from leakscope.canaries.canary_settings import (
        AttackSettings,
        BoundSettings,
        ExposureSettings,
        PlantSettings,
    )
    from leakscope.commands.command_settings import (
        CompareSettings,
        DemoSettings,
        ExportSettings,
        HardenSettings,
        PersonSettings,
        ProbeSettings,
        RenderSettings,
        ShowSettings,
        SuggestSettings,
        TrainChoices,
        VerifySettings,
    )
    from leakscope.corpus.build_resources import BuildResources
    from leakscope.corpus.build_settings import BuildSettings
    from leakscope.corpus.cleaning.clean_settings import CleanSettings
    from leakscope.corpus.readers.input_settings import InputSettings
    from leakscope.corpus.synthetic.synth_settings import SynthSettings
    from leakscope.models.remote.endpoint import Endpoint, RequestLimits
    from leakscope.models.word.architecture import Architecture
    from leakscope.records.runs.report_settings import ReportSettings
    from leakscope.studies.study_settings import StudySettings
    from leakscope.studies.updates.update_settings import UpdateStudySettings
    from leakscope.training.dp.dp_settings import PrivacySettings
    from leakscope.training.regularizers.adversarial_settings import AdversarialSettings
    from leakscope.training.regularizers.triplet_settings import TripletSettings
    from leakscope.training.train_settings import TrainSettings
    from leakscope.updates.diff_settings import DiffSettings

__all__ = [
    "AdversarialSettings",
    "Architecture",
    "AttackSettings",
    "BoundSettings",
    "BuildResources",
    "BuildSettings",
    "CleanSettings",
    "CompareSettings",
    "DemoSettings",
    "DiffSettings",
    "Endpoint",
    "EndpointAccess",
    "ExportSettings",
    "ExposureSettings",
    "HardenSettings",
    "InputSettings",
    "InterfaceSettings",
    "LoadingSettings",
    "PersonSettings",
    "PlantSettings",
    "PrivacySettings",
    "ProbeSettings",
    "PublicSettings",
    "RenderSettings",
    "ReportSettings",
    "RequestLimits",
    "RunningSettings",
    "ShowSettings",
    "StudySettings",
    "SuggestSettings",
    "SynthSettings",
    "TrainChoices",
    "TrainSettings",
    "TripletSettings",
    "UpdateStudySettings",
    "UserChoice",
    "VerifySettings",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        for part in all_parts():
            module, _, known = part.path.partition(":")
            if known == name:
                return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
