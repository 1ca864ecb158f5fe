"""What a killed build has finished, found without writing anything where it was."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.assembly import PARQUET, numbered_by, numbering, sharding
from leakscope.corpus.building.input_files import describe
from leakscope.corpus.building.lexicon_merge import merge_lexicons
from leakscope.corpus.building.number_stage import both_intact
from leakscope.corpus.parts.read_stage import whole_turn
from leakscope.corpus.parts.reading import ReadPlan, read_plan
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.engine.stages import Stage, output_paths
from leakscope.records.artifacts import is_intact
from leakscope.records.seal import OWN


@dataclass(frozen=True)
class KeptParts:
    """How many parts of a stage are there as they were written, of how many."""

    stage: str
    kept: int
    total: int


def kept_parts(
    paths: list[Path],
    how: InputSettings,
    settings: BuildSettings,
    resources: BuildResources,
    folder: Path,
    shards: Path,
) -> list[KeptParts]:
    """By stage, up to the first one that is not whole. Inputs that are read row by row are read
    anew in any case, and count for nothing. `folder`: where parts are; `shards`: where shards go.
    """
    if not folder.is_dir():
        return []
    described = [describe(path, how.format) for path in paths]
    plan = read_plan(paths, described, how, settings, resources.run_bytes)
    read = output_paths(plan.stage, plan.keys, folder)
    found = [_counted(plan.stage, read, is_intact)]
    in_turn = [_in_turn(plan, place, folder) for place in range(len(paths))]
    if found[0].kept < found[0].total or None in in_turn:
        return found
    parts = plan.read_parts(read, lambda place: in_turn[place] or [])
    stage, keys = numbering(parts, settings, resources)
    words = output_paths(stage, keys, folder)
    found.append(_counted(stage, words, both_intact))
    if found[1].kept < found[1].total:
        return found
    numbered = numbered_by(stage, words)
    with tempfile.TemporaryDirectory(prefix="leakscope-forecast-") as name:
        lexicon = Path(name) / "lexicon.parquet"
        merged = merge_lexicons(
            numbered.parts, numbered.pieces, settings.order, lexicon, resources.bytes
        )
    last, keys = sharding(numbered, merged)
    targets = output_paths(last, keys, folder)
    places = [shards / f"{number:05d}{PARQUET}" for number in range(len(keys))]
    moved = {
        target
        for target, place in zip(targets, places, strict=True)
        if place.is_file() and target.with_name(target.name + OWN).exists()
    }
    found.append(_counted(last, targets, lambda path: path in moved or is_intact(path)))
    return found


def _counted(stage: Stage, paths: list[Path], keep: Callable[[Path], bool]) -> KeptParts:
    return KeptParts(stage.name, sum(keep(path) for path in paths), len(paths))


def _in_turn(plan: ReadPlan, place: int, folder: Path) -> list[Path] | None:
    """The parts of an input that is read row by row; None: some are missing."""
    return whole_turn(folder, plan.turns[place]) if plan.cut[place] is None else []
