"""The time of an epoch with a regularizer, and with user-level DP, against that of a plain one."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import material
from benchmarks.lines import Line, interleaved
from leakscope.records.models.mitigation_settings import MitigationSettings
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.mitigations.mitigation import Mitigation
from leakscope.training.mitigations.plain_settings import PLAIN
from leakscope.training.mitigations.registry import registered
from leakscope.training.regularizers.adversarial_settings import AdversarialSettings
from leakscope.training.regularizers.triplet_settings import TripletSettings
from leakscope.training.train_settings import TrainSettings
from leakscope.training.training_setup import StartingPoint, TrainingSetup

PRESETS = ("lstm-2x128", "gru-160-512", "transformer-4x6x192")
BATCH = 32
NOBODY = StartingPoint(None, None, None, None)


class Epochs:
    """A training of which one epoch after the other is run."""

    def __init__(self, preset: str, mitigation: MitigationSettings, words: int) -> None:
        on = material.corpus(words)
        settings = TrainSettings.from_preset(
            preset, vocabulary=10_000, batch_size=BATCH, epochs=1000
        )
        if mitigation.kind == "dp":  # private training has no dropout
            calm = replace(settings.architecture, dropout=0.0)
            settings = replace(settings, architecture=calm)
        settings = replace(settings, mitigation=mitigation)
        setup = TrainingSetup(on, settings, NOBODY)
        self._mitigation: Mitigation = registered(settings.mitigation.kind).start(
            settings.mitigation, setup.workbench()
        )
        self._folder, self._step = TemporaryDirectory(), 0
        self._mitigation.open(Path(self._folder.name), 0)
        self.users = len(set(setup.documents.users.tolist()))

    def __call__(self) -> None:
        for _ in range(self._mitigation.per_epoch):
            self._mitigation.take(self._step)
            self._step += 1


def lines(words: int = 20_000, repeats: int = 5) -> list[Line]:
    asked = (
        (AdversarialSettings(), 1.06),
        (TripletSettings(), 1.3),
        (PrivacySettings(noise_multiplier=1.0, users_per_step=4.0), None),
    )
    found = []
    for preset in PRESETS:
        for settings, bar in asked:
            ours, theirs = Epochs(preset, settings, words), Epochs(preset, PLAIN, words)
            mine, plain = interleaved(ours, theirs, repeats)
            name = f"{settings.kind} / plain epoch {preset}"
            detail = f"{mine:.2f} s against {plain:.2f} s, {ours.users} users"
            found.append(Line(name, mine / plain, bar, True, detail=detail))
    return found
