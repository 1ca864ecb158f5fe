"""Training on two workers against one, each with one thread: the same steps of the same text."""

import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from benchmarks import material
from benchmarks.lines import Line, interleaved
from leakscope.corpus.store import Corpus
from leakscope.models.word.architecture import PRESETS
from leakscope.training.distributed.crew import crew_of
from leakscope.training.distributed.rank_group import OneRank, RankGroup
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.followed_training import FollowedTraining
from leakscope.training.mitigations.mitigation import Mitigation
from leakscope.training.mitigations.registry import registered
from leakscope.training.train_settings import TrainSettings
from leakscope.training.training_setup import StartingPoint, TrainingSetup

FRESH = StartingPoint(None, None, None, None)
WORKERS = 2
CASES = (
    ("plain", "lstm-2x128", None),
    ("plain", "transformer-4x6x192", None),
    (
        "private",
        "lstm-2x128",
        PrivacySettings(
            users_per_step=10, words_per_user=300, noise_multiplier=0.8, insecure_seed=1
        ),
    ),
)


def begun(corpus: Corpus, settings: TrainSettings, ranks: RankGroup, out: Path) -> Mitigation:
    out.mkdir()
    setup = TrainingSetup(corpus, settings, FRESH, ranks)
    made = registered(settings.mitigation.kind).start(settings.mitigation, setup.workbench())
    made.open(out, 0)
    return made


def against_one(
    kind: str, preset: str, privacy: PrivacySettings | None, repeats: int
) -> list[Line]:
    """Three steps at a time in turns; the second worker waits without working meanwhile. By the
    clock, and by the CPU time of the first worker, which other programs hardly change: what is
    left for it to do, and what it adds up.
    """
    corpus = material.corpus(300_000)
    shape = PRESETS[preset].architecture
    if privacy is not None:
        shape = replace(shape, dropout=0.0)
    settings = TrainSettings.from_preset(
        preset, architecture=shape, batch_size=64, mitigation=privacy
    )
    task = FollowedTraining(corpus.path, settings, FRESH, Path(), None)
    steps, used = [0, 0], [0.0, 0.0]
    torch.set_num_threads(WORKERS)  # one for each
    with TemporaryDirectory() as folder, crew_of(task, WORKERS) as crew:
        shared = begun(corpus, settings, crew.ranks, Path(folder) / "two")
        alone = begun(corpus, settings, OneRank(), Path(folder) / "one")
        crew.assemble()

        def ours() -> None:
            begin = time.process_time()
            for _ in range(3):
                crew.begin(steps[0])
                shared.take(steps[0])
                steps[0] += 1
            used[0] += time.process_time() - begin

        def theirs() -> None:
            begin = time.process_time()
            for _ in range(3):
                alone.take(steps[1])
                steps[1] += 1
            used[1] += time.process_time() - begin

        two, one = interleaved(ours, theirs, repeats)
        shared.close(), alone.close()
    detail = f"{1e3 * two / 3:.0f} ms a step against {1e3 * one / 3:.0f} ms"
    name = f"two workers / one, {kind} {preset}"
    return [
        Line(name, one / two, None, False, detail=detail),
        Line(f"{name}, by CPU time", used[1] / used[0], None, False),
    ]


def lines(repeats: int = 5) -> list[Line]:
    return [line for case in CASES for line in against_one(*case, repeats)]
