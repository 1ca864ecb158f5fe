"""`canaries.json`: which canaries were drawn, from which random spaces, and where they stand.

It is all that is needed to find them again, and never a part of the training text.
"""

from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from leakscope.records.artifacts import digest_of, digest_of_file, read_json
from leakscope.records.errors import LeakscopeError

SCHEMA_VERSION = 1
MANIFEST = "canaries.json"

State = Literal["planted", "control", "left out", "real"]
"""`planted`: in the training text. `control`: drawn in the same way, and not planted. `left out`:
not planted because its coin said so. `real`: a document of the user's own."""


class SpaceRecord(BaseModel):
    """A random space R: the texts that a canary could have been."""

    model_config = ConfigDict(frozen=True)

    template: str
    frequency: str
    slots: list[int]
    """What fills each random place, from left to right: an index into the manifest's
    `vocabularies`, or minus the number of random digits."""


class Canary(BaseModel):
    """One canary."""

    model_config = ConfigDict(frozen=True)

    id: int
    state: State
    user: str | None
    """The key of the user whose it is; null for controls."""
    space: int | None
    """Its random space among the manifest's; null for real ones."""
    choices: list[int]
    """What stands in each random place: an index into its vocabulary, or the digits' number."""
    text: str
    words: list[str]
    """As the corpus has them."""
    repetitions: int
    """How often it stands in the training text; of one that was left out by its coin, how often it
    would have stood there."""
    frequency: str | None
    rows: list[int]
    """Its rows among the planted rows, counted from 0; empty unless it was planted."""
    perplexity: float | None = None
    """Of real ones: under the plain model that chose them."""


class CanaryInput(BaseModel):
    """What the canaries were planted in."""

    model_config = ConfigDict(frozen=True)

    name: str
    format: str
    digest: str


class CanaryManifest(BaseModel):
    """`canaries.json`."""

    model_config = ConfigDict(frozen=True)

    schema_version: int = SCHEMA_VERSION
    versions: dict[str, str]
    settings: dict[str, Any]
    input: CanaryInput
    rows: str
    """The file with the planted rows, beside this one."""
    rows_digest: str
    """Of that file."""
    corpus_digest: str
    """Of the planted corpus."""
    lowercase: bool
    """Whether the corpus's words are lower-cased."""
    coins: Literal["user", "document"] | None
    """The unit that a coin was tossed for; null: no coins were tossed."""
    vocabularies: list[list[str]]
    """Lists of words that random places are filled from."""
    spaces: list[SpaceRecord]
    canaries: list[Canary]
    users: int
    """Users of the planted corpus."""
    without_real: int = 0
    """Users without a document that could be their real canary."""
    sealed: bool = False
    """Whether a seal lists the digests of all files."""

    @staticmethod
    def load(path: Path) -> "CanaryManifest":
        """Read the manifest of a directory that `canary plant` made, and check that its parts fit
        together.
        """
        path = path if path.is_file() else path / MANIFEST
        found = read_json(path, CanaryManifest, "a directory of canary plant")
        if found.schema_version != SCHEMA_VERSION:
            raise LeakscopeError(
                f"{path} has canary format {found.schema_version}, this version reads "
                f"{SCHEMA_VERSION}; plant again."
            )
        if not found._consistent():
            raise LeakscopeError(f"{path} contradicts itself; plant again.")
        return found

    @cached_property
    def digest(self) -> str:
        """A digest of the canaries and their places, for results made from them."""
        return digest_of(self.model_dump(mode="json", exclude={"sealed"}))

    def require_rows(self, folder: Path) -> None:
        """Raise if the planted rows in `folder` are not those that this manifest tells of."""
        rows = folder / self.rows
        if not rows.exists() or digest_of_file(rows) != self.rows_digest:
            raise LeakscopeError(f"{rows} is not what was planted; plant again.")

    def _consistent(self) -> bool:
        for space in self.spaces:
            if any(slot >= len(self.vocabularies) or slot < -18 for slot in space.slots):
                return False
        for canary in self.canaries:
            if (canary.space is None) != (canary.state == "real"):
                return False
            if canary.space is None:
                continue
            if not 0 <= canary.space < len(self.spaces):
                return False
            slots = self.spaces[canary.space].slots
            sizes = [len(self.vocabularies[slot]) if slot >= 0 else 10**-slot for slot in slots]
            if len(sizes) != len(canary.choices) or any(
                not 0 <= choice < size for choice, size in zip(canary.choices, sizes, strict=True)
            ):
                return False
        return [canary.id for canary in self.canaries] == list(range(len(self.canaries)))
