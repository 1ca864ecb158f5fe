"""User-level private training against plain training over the same words, and against opacus."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from benchmarks import material
from benchmarks.lines import Line, interleaved
from benchmarks.persample import opacus_step
from leakscope.models.word.architecture import PRESETS
from leakscope.models.word.networks import Network, make_network
from leakscope.training.dp.clipping.clipper import Clipper
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.ledger import open_ledger
from leakscope.training.dp.noise.noise_source import noise_source
from leakscope.training.dp.noisy_gradient import release
from leakscope.training.dp.privacy_plan import plan_of
from leakscope.training.steps.batches import Batch, TrainingText
from leakscope.training.steps.loss import training_loss
from leakscope.training.steps.plain_step import descend

SHAPES = ((64, 1, 2.0), (8, 16, 1.5))  # users, documents of each, bar
VOCABULARY = 10_000
CLIP, NOISE = 1.0, 0.5


def step_text(users: int, each: int, words: int = 300_000) -> tuple[Batch, np.ndarray]:
    """Documents of about 20 words, and whose they are."""
    documents = material.corpus(words).load()
    entries = documents.ids.clip(max=VOCABULARY).astype("int64")
    text = TrainingText(entries, documents.offsets, VOCABULARY + 1, 256)
    lengths = np.diff(documents.offsets)
    alike = np.flatnonzero((lengths >= 15) & (lengths <= 25))
    pieces = np.random.default_rng(0).choice(alike, users * each, replace=False)
    return text.batch(pieces), np.repeat(np.arange(users), each)


class PrivateStep:
    """A step as `train --mitigation dp` takes it: clipped sum, ledger, noise from the system's
    randomness, a fixed denominator, Adam.
    """

    def __init__(self, preset: str, batch: Batch, owners: np.ndarray, users: int) -> None:
        self._network, self._optimizer = fresh(preset)
        self._batch, self._owners, self._users = batch, owners, users
        terms = PrivacySettings(rate=0.1, noise_multiplier=NOISE, clip=CLIP)
        self._plan = plan_of(terms, 10 * users, 1)
        self._folder = TemporaryDirectory()
        self._ledger = open_ledger(Path(self._folder.name), self._plan.terms("benchmark"), 0)
        self._clipper, self._noise = Clipper(self._network, CLIP), noise_source(None)
        self._step = 0

    def __call__(self) -> None:
        self._clipper.write(self._batch, self._owners, self._users)
        weights = self._network.parameters()
        release(weights, self._plan, self._ledger, self._noise, self._step)
        self._optimizer.step()
        self._step += 1


def fresh(preset: str) -> tuple[Network, torch.optim.Optimizer]:
    seed = torch.Generator().manual_seed(0)
    network = make_network(PRESETS[preset].architecture, VOCABULARY + 2, seed)
    return network, torch.optim.Adam(network.parameters(), lr=1e-4, fused=True)


def against_plain(preset: str, users: int, each: int, bar: float, repeats: int) -> Line:
    batch, owners = step_text(users, each)
    ours, (plain, to_plain) = PrivateStep(preset, batch, owners, users), fresh(preset)

    def theirs() -> None:
        descend(plain, to_plain, training_loss(plain, batch, None), 5.0)

    private, usual = interleaved(ours, theirs, repeats)
    name = f"private step / plain step {preset}, {users} users x {each}"
    detail = f"{1e3 * private:.0f} ms against {1e3 * usual:.0f} ms, {len(batch.labels)} words"
    return Line(name, private / usual, bar, True, detail=detail)


def against_opacus(preset: str, ghost: bool, repeats: int) -> Line:
    """One document a user, since opacus clips by document; as its `make_private` sets it up, and
    by its ghost clipping.
    """
    users = SHAPES[0][0]
    batch, owners = step_text(users, 1)
    ours, (other, _) = PrivateStep(preset, batch, owners, users), fresh(preset)
    theirs = opacus_step(other, batch, CLIP, NOISE, ghost)
    private, usual = interleaved(ours, theirs, repeats)
    name = f"opacus{' ghost' if ghost else ''} / private step {preset}, {users} users x 1"
    detail = f"{1e3 * usual:.0f} ms against {1e3 * private:.0f} ms"
    return Line(name, usual / private, 3, False, detail=detail)


def lines(repeats: int = 7) -> list[Line]:
    found = [
        against_plain(preset, users, each, bar, repeats)
        for preset in material.MODELS
        for users, each, bar in SHAPES
    ]
    for preset in material.MODELS:
        found.append(against_opacus(preset, False, repeats))
        near = preset.startswith("transformer")  # to its bar, so it is measured for longer
        found.append(against_opacus(preset, True, 3 * repeats if near else repeats))
    return found
