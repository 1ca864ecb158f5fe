"""The trial of odd files: every case once."""

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from trials.forked import forked
from trials.material import Material
from trials.odd_files.case import Place, judged
from trials.odd_files.inputs import bombs, inputs
from trials.odd_files.models import models
from trials.odd_files.our_artifacts import our_artifacts
from trials.odd_files.pages import pages
from trials.odd_files.repositories import repositories
from trials.outcomes import Outcome


def odd_files(seed: int, count: int | None = None) -> Iterator[Outcome]:
    """All cases, or `count` of them, drawn by the seed and quick to make."""
    cases = [*inputs(), *repositories(), *models(), *our_artifacts(), *pages()]
    if count is None:
        cases += bombs()
    else:
        cases = random.Random(seed).sample(cases, min(count, len(cases)))
    with tempfile.TemporaryDirectory(prefix="trial-files-") as name:
        root = Path(name)
        made = _made(root / "made")
        for number, odd in enumerate(cases):
            place = Place(root / f"case-{number}", made, root / "base", root / "adapter")
            yield judged(odd, place)
            shutil.rmtree(place.folder)


def _made(root: Path) -> Material:
    """Artifacts of ours, and a causal model with an adapter beside the folder."""
    from saved_causal import saved_adapter

    ended = forked(lambda: str(saved_adapter(root.parent)[0]))
    if ended.code != 0:
        raise RuntimeError(ended.err)
    return Material(root)
