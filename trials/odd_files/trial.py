"""The trial of odd files: every case once."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from trials.forked import forked
from trials.kills.commands import fits
from trials.material import Material
from trials.odd_files.case import Place, judged
from trials.odd_files.inputs import bombs, inputs
from trials.odd_files.models import models
from trials.odd_files.our_artifacts import our_artifacts
from trials.odd_files.pages import pages
from trials.odd_files.remote import evil_server, remote
from trials.odd_files.repositories import repositories
from trials.outcomes import Outcome
from trials.served_folder import served


def odd_files(seed: int, count: int | None = None, only: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """All cases, or `count` of them, drawn by the seed and quick to make."""
    ours = [*inputs(), *our_artifacts()]
    objects = [each for each in ours if each.kind != "folders"]  # there are no pipes and no links
    cases = [*ours, *repositories(), *models(), *pages(), *remote(objects)]
    if count is None:
        cases += bombs()
    cases = [each for each in cases if fits(each.kind, only)]
    if count is not None:
        cases = random.Random(seed).sample(cases, min(count, len(cases)))
    with served("files") as place, evil_server(place.root / "orders.json") as evil:
        made = _made(place.made)
        known = (made, place.root / "base", place.root / "adapter", place, evil)
        for number, odd in enumerate(cases):
            yield judged(odd, Place(place.root / f"case-{number}", *known))
            shutil.rmtree(place.root / f"case-{number}")
            place.clear()


def _made(root: Path) -> Material:
    """Artifacts of ours, and a causal model with an adapter beside the folder."""
    from saved_causal import saved_adapter

    ended = forked(lambda: str(saved_adapter(root.parent)[0]))
    if ended.code != 0:
        raise RuntimeError(ended.err)
    return Material(root)
