"""The trial of flips: a bit, or a cut, in a file of every kind, and what those say who read it."""

import json
import math
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trials.flips.kinds import Kind, finished_kinds
from trials.flips.remote_kinds import remote_kinds
from trials.flips.unfinished_kinds import unfinished_kinds
from trials.forked import Ended, command, forked
from trials.kills.commands import fits
from trials.material import Material
from trials.outcomes import Outcome, Verdict
from trials.served_folder import ServedFolder, served

COUNT = 1_000
CUTS = 0.06
"""Cut files for each flip, on top of the flips."""
EDGE = 300
"""Bytes at either end of a file, where its header or footer is."""


@dataclass(frozen=True)
class Honest:
    """What an artifact says before it is spoilt."""

    answer: Any
    verified: bool
    """Whether `leakscope verify` knows this kind of artifact."""


def flips(seed: int, count: int = COUNT, only: tuple[str, ...] = ()) -> Iterator[Outcome]:
    """So many flips over all kinds of files, by their shares, and some cuts on top."""
    draw = random.Random(seed)
    with served("flips") as place:
        known = [each for each in kinds(place) if fits(each.name, only)]
        total = sum(each.share for each in known)
        for kind in known:
            honest = _honest(kind, place)
            flipped = math.ceil(count * kind.share / total)
            cut = max(1, round(flipped * CUTS))
            for number in range(flipped + cut):
                yield _spoilt(kind, honest, place, draw, cut=number >= flipped)


def kinds(place: ServedFolder) -> list[Kind]:
    """All kinds."""
    made = Material(place.made)
    return [*finished_kinds(made), *remote_kinds(made, place), *unfinished_kinds(made)]


def _honest(kind: Kind, place: ServedFolder) -> Honest:
    """The answers of the artifact as it is, which must be the same twice."""
    first, second = (_read(kind, place) for _ in range(2))
    if first.code != 0 or first.value != second.value:
        raise RuntimeError(f"{kind.name} has no answer to compare with: {first.err}")
    if not kind.paths:
        raise RuntimeError(f"{kind.name} has no files")
    return Honest(first.value, kind.finished and _verified(kind, place).code == 0)


def _spoilt(
    kind: Kind, honest: Honest, place: ServedFolder, draw: random.Random, *, cut: bool
) -> Outcome:
    """Spoil one file of a copy, and ask those who read it."""
    name = draw.choice(kind.paths)
    data = (kind.artifact / name).read_bytes()
    said, spoilt = _cut(data, draw) if cut else _flipped(data, draw)
    verdict, detail = _verdict(kind, honest, place, name, spoilt)
    return Outcome(kind.name, f"{name}: {said}", verdict, detail)


def _flipped(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    """(what was done, the bytes): one bit, four times in ten near one of the ends."""
    place = draw.randrange(len(data))
    if draw.random() < 0.4:
        near = draw.randrange(min(EDGE, len(data)))
        place = near if draw.random() < 0.5 else len(data) - 1 - near
    bit = draw.randrange(8)
    spoilt = bytearray(data)
    spoilt[place] ^= 1 << bit
    return f"bit {bit} of byte {place} of {len(data)}", bytes(spoilt)


def _cut(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    size = draw.choice((0, len(data) - 1, draw.randrange(len(data))))
    return f"cut to {size} of {len(data)} bytes", data[:size]


def _verdict(
    kind: Kind, honest: Honest, place: ServedFolder, name: Path, spoilt: bytes
) -> tuple[Verdict, str]:
    ended = _read(kind, place, name, spoilt)
    told = _verified(kind, place, name, spoilt) if honest.verified else None
    for each in filter(None, (ended, told)):
        if each.code is None:
            return Verdict.HANG, ""
        if each.ran and not kind.on_ray:
            return Verdict.EXECUTED, ", ".join(each.ran)
        if each.code not in (0, 1, 2) or "Unexpected" in each.err or "Traceback" in each.err:
            return Verdict.UNEXPECTED, f"{each.code}: {each.last}"
    if told is not None and told.code == 0:
        return Verdict.SILENT, "verify says that all is well"
    if ended.code != 0:
        return Verdict.REFUSED, ended.last
    if _plain(ended.value) != _plain(honest.answer):
        return Verdict.SILENT, "another answer"
    if told is not None:
        return Verdict.NOTICED, ""
    return (Verdict.UNNOTICED if kind.finished else Verdict.READ), ""


def _read(kind: Kind, place: ServedFolder, name: Path | None = None, spoilt: bytes = b"") -> Ended:
    """Ask those who read the artifact, of a fresh copy at the same place."""
    artifact = _copy(kind, place, name, spoilt)
    ended = forked(lambda: _answer(kind, artifact))
    place.clear()
    return ended


def _answer(kind: Kind, artifact: Path) -> Any:
    """The answer, or the end that the command line makes of an error."""
    from leakscope.records.errors import LeakscopeError

    try:
        return kind.answer(artifact)
    except (LeakscopeError, OSError, MemoryError) as error:  # each is one sentence there
        raise SystemExit(_said(str(error))) from None


def _said(sentence: str) -> int:
    import sys

    sys.stderr.write(f"leakscope: {sentence}\n")
    return 2


def _verified(
    kind: Kind, place: ServedFolder, name: Path | None = None, spoilt: bytes = b""
) -> Ended:
    artifact = _copy(kind, place, name, spoilt)
    ended = forked(command("verify", kind.spelled(artifact)))
    place.clear()
    return ended


def _copy(kind: Kind, place: ServedFolder, name: Path | None, spoilt: bytes) -> Path:
    artifact = place.case / "it"
    shutil.copytree(kind.artifact, artifact)
    if name is not None:
        (artifact / name).write_bytes(spoilt)
    return artifact


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
