"""All rows of a build as parts: of inputs, in pieces and in parallel where their format allows it,
or of any stream of rows.
"""

import platform
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.manifest import InputFile
from leakscope.corpus.parts.input_pieces import pieces_of_input
from leakscope.corpus.parts.read_stage import ReadStage, read_in_turn, tally_of
from leakscope.corpus.parts.row_columns import ReadTally
from leakscope.corpus.readers.detect import rows_by_input
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import Row
from leakscope.engine.progress import Progress
from leakscope.engine.stages import Engine
from leakscope.records.artifacts import digest_of, is_intact


@dataclass(frozen=True)
class BuildContext:
    """What all stages of a build need to know."""

    folder: Path
    """Where parts are."""
    settings: BuildSettings
    resources: BuildResources
    engine: Engine
    """Runs them."""
    progress: Progress


@dataclass
class ReadParts:
    """Parts in the order of the input, and what became of all rows."""

    paths: list[Path] = field(default_factory=list)
    first_rows: list[int] = field(default_factory=list)
    """What to add to the row numbers of each part."""
    tally: ReadTally = field(default_factory=ReadTally)

    def add(self, paths: list[Path], *, numbered: bool) -> None:
        """Take the parts of the next input, whose rows are `numbered` within it or else within
        each part.
        """
        first = 0
        for path in paths:
            tally = tally_of(path)
            self.paths.append(path)
            self.first_rows.append(0 if numbered else first)
            self.tally.add(tally)
            first += tally.records


def code_identity() -> list[str]:
    """What decides, besides input and settings, what a part holds."""
    return [version("leakscope"), platform.python_version(), unicodedata.unidata_version]


def read_rows(rows: Iterable[Row], context: BuildContext) -> ReadParts:
    """Read a stream of rows, from which nothing can be taken up again."""
    found = ReadParts()
    size = context.resources.run_bytes
    made = read_in_turn(rows, context.folder, "", context.settings, size, context.progress)
    found.add(made, numbered=True)
    return found


def read_inputs(
    paths: list[Path], described: list[InputFile], how: InputSettings, context: BuildContext
) -> ReadParts:
    """Read all inputs; what was read before, from the same bytes in the same way, stays."""
    settings, size = context.settings, context.resources.run_bytes
    in_turn = rows_by_input(paths, how)  # checks paths and formats at once
    cut = [
        pieces_of_input(path, place, given.format, how, size)
        for place, (path, given) in enumerate(zip(paths, described, strict=True))
    ]
    pieces = [piece for each in cut for piece in each or ()]
    known = [*code_identity(), asdict(how), settings.max_characters, size]

    def key(input: int, what: Any) -> str:
        return digest_of([known, input, what])

    stage = ReadStage(tuple(paths), tuple(pieces), how, settings, size)
    keys = [key(piece.input, [described[piece.input].digest, asdict(piece)]) for piece in pieces]
    parts = context.engine.map(
        stage, keys, context.folder, keep=is_intact, progress=context.progress
    )
    made = dict(zip(pieces, parts, strict=True))
    found = ReadParts()
    for place, each in enumerate(cut):
        if each is not None:
            found.add([made[piece] for piece in each], numbered=False)
        else:
            # Who the users of mail are is told by all of it.
            all_inputs = [given.digest for given in described]
            turn = key(place, [all_inputs, described[place].format])
            parts = read_in_turn(
                in_turn[place], context.folder, turn, settings, size, context.progress
            )
            found.add(parts, numbered=True)
    return found
