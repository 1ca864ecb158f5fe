"""User-level private training against plain training over the same words, and against opacus."""

from importlib import import_module
from importlib.util import find_spec

import numpy as np
import torch

from benchmarks import material
from benchmarks.lines import Line, interleaved
from leakscope.models.architecture import PRESETS
from leakscope.models.networks import Network, make_network
from leakscope.training.batches import Batch, TrainingText
from leakscope.training.clipping import Clipper
from leakscope.training.step import take_step

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


def private_step(
    network: Network,
    clipper: Clipper,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    users: np.ndarray,
    count: int,
    generator: torch.Generator,
) -> None:
    """Clipped sum, noise, a fixed denominator, Adam."""
    clipper.write(batch, users, count)
    for weight in network.parameters():
        noise = torch.randn(weight.shape, generator=generator)
        weight.grad.add_(noise, alpha=CLIP * NOISE).div_(count)
    optimizer.step()


def fresh(preset: str) -> tuple[Network, torch.optim.Optimizer]:
    seed = torch.Generator().manual_seed(0)
    network = make_network(PRESETS[preset].architecture, VOCABULARY + 2, seed)
    return network, torch.optim.Adam(network.parameters(), lr=1e-4, fused=True)


def against_plain(preset: str, users: int, each: int, bar: float, repeats: int) -> Line:
    batch, owners = step_text(users, each)
    (mine, to_mine), (plain, to_plain) = fresh(preset), fresh(preset)
    clipper, noise = Clipper(mine, CLIP), torch.Generator().manual_seed(1)

    def ours() -> None:
        private_step(mine, clipper, to_mine, batch, owners, users, noise)

    def theirs() -> None:
        take_step(plain, to_plain, batch, None, 5.0)

    private, usual = interleaved(ours, theirs, repeats)
    name = f"private step / plain step {preset}, {users} users x {each}"
    detail = f"{1e3 * private:.0f} ms against {1e3 * usual:.0f} ms, {len(batch.labels)} words"
    return Line(name, private / usual, bar, True, detail=detail)


def against_opacus(preset: str, ghost: bool, repeats: int) -> Line:
    """One document a user, since opacus clips by document."""
    users = SHAPES[0][0]
    batch, owners = step_text(users, 1)
    (mine, to_mine), (other, _) = fresh(preset), fresh(preset)
    clipper, noise = Clipper(mine, CLIP), torch.Generator().manual_seed(1)

    def ours() -> None:
        private_step(mine, clipper, to_mine, batch, owners, users, noise)

    persample = import_module("benchmarks.persample")
    theirs = persample.opacus_step(other, batch, CLIP, NOISE, ghost)
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
    if find_spec("opacus") is None:
        material.note("opacus is not installed: nothing is compared with it")
        return found
    return found + [
        against_opacus(preset, ghost, 3) for preset in material.MODELS for ghost in (False, True)
    ]
