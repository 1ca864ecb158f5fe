"""`verify`: whether everything that leakscope wrote into a directory is still as it was written."""

import json
import os
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pydantic import ValidationError

from leakscope.records.artifacts import (
    digest_of_file,
    is_intact,
    is_partial,
    read_seal,
    sealed_digest,
)
from leakscope.records.block_lists.block_list_file import MAGIC, read_block_file
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import MARKER, Unfinished
from leakscope.records.seal import OWN, SEAL
from leakscope.training.dp.dp_settings import LEDGER
from leakscope.training.dp.ledger_lines import read_ledger

SIGNATURE = SEAL + ".sig"
EARLIER = "made by an earlier version, not checked"
_RECORD = "checkpoint.json"
_STATES = "checkpoints/*/mitigation.json"
_KINDS = {
    "corpus": {"manifest.json", "lexicon.parquet"},
    "run": {"manifest.json", "metrics.json"},
    "checkpoint": {"optimizer.json", "model.safetensors"},
    "training": {_RECORD},
    "model": {"config.json", "vocabulary.json"},
    "cross-fitted models": {"folds.json"},
    "hardening": {"harden.json"},
    "person": {"person.json"},
    "canaries": {"canaries.json"},
    "exposure of canaries": {"exposure.json"},
    "attack on canaries": {"attack.json"},
    "bound on epsilon": {"bound.json"},
    "study": {"study.json"},
    "diff": {"diff.json"},
    "comparison": {"compare.json", "compare.html"},
}
"""The files that each kind of directory has, the most telling first."""
_MAIN = (
    "manifest.json", "config.json", "folds.json", "harden.json", "canaries.json", "exposure.json",
    "attack.json", "bound.json", "study.json", "diff.json", "person.json",
)  # fmt: skip
"""Records that say whether they have a seal."""


@dataclass(frozen=True)
class Verified:
    """What became of one artifact."""

    path: Path
    kind: str
    checked: int = 0
    """Files that are as they were written."""
    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    """Files that no seal has: somebody else's, or half-written ones."""
    unfinished: str | None = None
    """The command that has not finished here."""
    unchecked: str | None = None
    """Why it was not checked."""
    signature: str | None = None
    """What is known of its signature; None: it has none."""
    signed: bool | None = None
    """Whether it is signed as was asked; None: nobody asked."""

    @property
    def is_damaged(self) -> bool:
        """Whether something is not as it was written, or not signed as was asked."""
        return bool(self.changed or self.missing) or self.signed is False


def verify_path(path: Path) -> list[Verified]:
    """Everything of ours in a directory and below it, or a single file."""
    if path.is_file():
        return [_file(path)]
    if not path.is_dir():
        raise LeakscopeError(f"There is no {path}; give something that leakscope has made.")
    homes = [Path(folder) for folder, _, files in os.walk(path) if _kind(set(files)) is not None]
    if not homes:
        raise LeakscopeError(f"{path} holds nothing that leakscope has made.")
    return [_Home(home, set(homes)).verified() for home in sorted(homes)]


def _file(path: Path) -> Verified:
    with path.open("rb") as handle:
        is_block_list = handle.read(len(MAGIC)) == MAGIC
    if not is_block_list and sealed_digest(path) is None:
        raise LeakscopeError(
            f"{path} is not a block list, nor does a seal have it; give a directory that "
            f"leakscope has made."
        )
    good = _reads_as_block_list(path) if is_block_list else is_intact(path)
    found = Verified(path, "block list" if is_block_list else "file")
    return replace(found, checked=1) if good else replace(found, changed=(path.name,))


def _reads_as_block_list(path: Path) -> bool:
    try:
        read_block_file(path)
    except LeakscopeError:
        return False
    return True


def _kind(names: Set[str]) -> str | None:
    """What a directory with these files is; None: nothing of ours."""
    for kind, needs in _KINDS.items():
        if needs <= names:
            return kind
    return "directory" if SEAL in names or MARKER in names else None


class _Home:
    """One directory of ours: its own files, without those of others of ours below it."""

    def __init__(self, path: Path, homes: Set[Path]) -> None:
        self._path = path
        self._files = frozenset(_files_of(path, homes - {path}))
        self._good: set[str] = set()
        self._changed: set[str] = set()
        self._missing: set[str] = set()

    @cached_property
    def _unfinished(self) -> str | None:
        """The command that the marker names."""
        if MARKER not in self._files:
            return None
        content = (self._path / MARKER).read_bytes()
        try:
            said = Unfinished.model_validate_json(content or b"{}")
        except ValidationError:
            return None
        return said.unfinished if said.model_dump_json().encode() == content else None

    def verified(self) -> Verified:
        """What became of it."""
        self._check_seal()
        self._check_files_with_a_seal_of_their_own()
        self._check_ledger()
        unchecked = self._check_records()
        if MARKER in self._files and (self._path / MARKER).stat().st_size:
            self._put(MARKER, good=self._unfinished is not None)
        known = self._good | self._changed | {SEAL, SIGNATURE, MARKER}
        if unchecked is not None:
            known |= self._files  # of an earlier version nobody knows which belong to it
        return Verified(
            path=self._path,
            kind=_kind({name for name in self._files | self._missing if "/" not in name}) or "",
            checked=len(self._good),
            changed=tuple(sorted(self._changed)),
            missing=tuple(sorted(self._missing)),
            extra=tuple(sorted(self._files - known)),
            unfinished=self._unfinished,
            unchecked=unchecked or self._torn_ledger(),
            signature="not checked" if SIGNATURE in self._files else None,
        )

    def _put(self, name: str, *, good: bool) -> None:
        (self._good if good else self._changed).add(name)

    def _check_seal(self) -> None:
        try:
            sealed = read_seal(self._path / SEAL) or {}
        except LeakscopeError:
            self._changed.add(SEAL)
            return
        for name, digest in sealed.items():
            if not (self._path / name).is_file():
                self._missing.add(name)
            else:
                self._put(name, good=digest_of_file(self._path / name) == digest)

    def _check_files_with_a_seal_of_their_own(self) -> None:
        seals = {name for name in self._files if name.endswith(OWN)}
        for seal in seals - self._good - self._changed:
            name = seal.removesuffix(OWN)
            if name in self._files:
                good = is_intact(self._path / name)
                self._put(name, good=good)
                self._put(seal, good=good)

    def _check_ledger(self) -> None:
        """The ledger of a finished training is sealed. That of an unfinished one must be a chain,
        with all lines that a checkpoint knows of.
        """
        if LEDGER not in self._files or LEDGER in self._good | self._changed:
            return
        try:
            heads = read_ledger(self._path / LEDGER).heads
            known = [head for path in self._path.glob(_STATES) if (head := _ledger_head(path))]
        except LeakscopeError:
            self._changed.add(LEDGER)
        else:
            self._put(LEDGER, good=all(head in heads for head in known))

    def _torn_ledger(self) -> str | None:
        """Why the end of a ledger could not be checked, if so. It counts as a step all the same."""
        if LEDGER not in self._good or (self._path / LEDGER).read_bytes().endswith(b"\n"):
            return None
        return f"the last line of {LEDGER} is cut short, as a crash leaves it; it counts as a step"

    def _check_records(self) -> str | None:
        """Whether records that say that they are sealed are so; why nothing was checked, if so."""
        claims = {name: _claims_seal(self._path / name) for name in _MAIN if name in self._files}
        if SEAL not in self._files and any(claims.values()):
            self._missing.add(SEAL)
        if _RECORD in self._files - self._good:
            copies = [copy.read_bytes() for copy in self._path.glob(f"checkpoints/*/{_RECORD}")]
            if copies or _claims_seal(self._path / _RECORD):
                self._put(_RECORD, good=(self._path / _RECORD).read_bytes() in copies)
        nothing = not self._good and not self._changed and not self._missing
        return EARLIER if nothing and self._unfinished is None else None


def _ledger_head(path: Path) -> str | None:
    """The last line of the ledger, by its digest, that a checkpoint knows of."""
    try:
        found = json.loads(path.read_bytes()).get("ledger")
    except (OSError, ValueError, RecursionError, AttributeError):
        return None  # its own seal tells
    return found if isinstance(found, str) else None


def _claims_seal(record: Path) -> bool:
    """Whether a record says that there is a seal, or cannot be read."""
    try:
        said = json.loads(record.read_bytes())
    except (OSError, ValueError, RecursionError):
        return True
    return isinstance(said, dict) and bool(said.get("sealed") or said.get("folder_sealed"))


def _files_of(path: Path, others: Set[Path]) -> Iterator[str]:
    for folder, below, names in os.walk(path):
        below[:] = [name for name in below if Path(folder) / name not in others]
        for name in names:
            file = Path(folder) / name
            if not is_partial(file):
                yield file.relative_to(path).as_posix()


def all_intact(found: Iterable[Verified]) -> bool:
    """Whether everything was checked, is finished and as it was written."""
    return all(
        not each.is_damaged and each.unchecked is None and each.unfinished is None for each in found
    )
