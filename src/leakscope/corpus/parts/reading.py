"""All rows of a build as parts: of inputs, in pieces and in parallel where their format allows it,
or of any stream of rows.
"""

import platform
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.manifest import InputFile
from leakscope.corpus.parts.input_pieces import InputPiece, pieces_of_input
from leakscope.corpus.parts.read_stage import ReadStage, read_in_turn, tally_of, whole_turn
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


@dataclass(frozen=True)
class StreamIdentity:
    """What a stream of rows is known by when it comes again."""

    digest: str
    """Of all that decides the rows and their order."""
    unread: bool = False
    """If all of its parts are there, no row is asked for: nobody needs what happens on the way."""


def read_rows(
    rows: Iterable[Row], context: BuildContext, identity: StreamIdentity | None = None
) -> ReadParts:
    """Read a stream of rows. What was read before of the same one, in the same way, stays; of one
    without an identity, nothing was.
    """
    found = ReadParts()
    folder, settings, size = context.folder, context.settings, context.resources.run_bytes
    known = [*code_identity(), identity and identity.digest, settings.max_characters, size]
    key = digest_of(known)
    made = whole_turn(folder, key) if identity is not None and identity.unread else None
    if made is None:
        made = read_in_turn(rows, folder, key, settings, size, context.progress)
    found.add(made, numbered=True)
    return found


@dataclass(frozen=True)
class ReadPlan:
    """How inputs are read: in pieces, or row by row."""

    stage: ReadStage
    cut: tuple[tuple[InputPiece, ...] | None, ...]
    """The pieces of each input; None: it is read row by row."""
    keys: tuple[str, ...]
    """What decides the part of each piece, by digest."""
    turns: tuple[str, ...]
    """The same of each input that is read row by row."""

    def read_parts(self, of_pieces: list[Path], in_turn: Callable[[int], list[Path]]) -> ReadParts:
        """All parts in the order of the input: those of pieces, and of inputs read row by row."""
        made = dict(zip(self.stage.pieces, of_pieces, strict=True))
        found = ReadParts()
        for place, each in enumerate(self.cut):
            if each is not None:
                found.add([made[piece] for piece in each], numbered=False)
            else:
                found.add(in_turn(place), numbered=True)
        return found


def read_plan(
    paths: list[Path],
    described: list[InputFile],
    how: InputSettings,
    settings: BuildSettings,
    size: int,
) -> ReadPlan:
    """Cut inputs into pieces of about `size` bytes where their format allows it."""
    cut = [
        pieces_of_input(path, place, given.format, how, size)
        for place, (path, given) in enumerate(zip(paths, described, strict=True))
    ]
    pieces = [piece for each in cut for piece in each or ()]
    known = [*code_identity(), asdict(how), settings.max_characters, size]

    def key(input: int, what: Any) -> str:
        return digest_of([known, input, what])

    # Who the users of mail are is told by all of it.
    all_inputs = [given.digest for given in described]
    return ReadPlan(
        ReadStage(tuple(paths), tuple(pieces), how, settings, size),
        tuple(None if each is None else tuple(each) for each in cut),
        tuple(key(each.input, [described[each.input].digest, asdict(each)]) for each in pieces),
        tuple(key(place, [all_inputs, given.format]) for place, given in enumerate(described)),
    )


def read_inputs(
    paths: list[Path], described: list[InputFile], how: InputSettings, context: BuildContext
) -> ReadParts:
    """Read all inputs; what was read before, from the same bytes in the same way, stays."""
    settings, size = context.settings, context.resources.run_bytes
    rows = rows_by_input(paths, how)  # checks paths and formats at once
    plan = read_plan(paths, described, how, settings, size)
    folder, progress = context.folder, context.progress
    made = context.engine.map(
        plan.stage, list(plan.keys), folder, keep=is_intact, progress=progress
    )
    return plan.read_parts(
        made,
        lambda place: read_in_turn(
            rows[place], folder, plan.turns[place], settings, size, progress
        ),
    )
