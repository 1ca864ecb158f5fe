"""Which steps `corpus clean` takes, and how."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from leakscope.corpus.personal_data.kinds import KINDS, Kind, check_kinds
from leakscope.records.errors import LeakscopeError
from leakscope.records.phone_region import check_phone_region

Duplicates = Literal["none", "exact", "near"]
Repeats = Literal["none", "exact"]


@dataclass(frozen=True)
class CleanSettings:
    """Which steps to take, and how."""

    drop: tuple[Path, ...] = ()
    """Drop what this list of leakscope suggest says: documents and users. May be repeated."""
    documents: Duplicates = "none"
    """Remove duplicate documents: none, exact ones, or near ones too."""
    sentences: Repeats = "none"
    """Remove sentences that an earlier document has: none or exact."""
    across_users: bool = False
    """Also remove what another user said before, not only what the same user did."""
    threshold: float = 0.8
    """How similar near duplicates are, from 0 to 1 (Jaccard)."""
    shingle: int = 5
    """Compare near duplicates by this many words in a row."""
    min_words: int = 8
    """Keep repeated sentences that have fewer words than this."""
    scrub: tuple[Literal[Kind, "all"], ...] = ()
    """Replace personal data of this kind by a placeholder, or of all kinds. May be repeated."""
    phone_region: str | None = None
    """Find more of this country's phone numbers; a two-letter code such as SG."""
    min_users: int | None = None
    """Replace words that fewer users than this have in their training documents."""
    presidio: bool = False
    """Also replace what presidio finds (an extra)."""
    presidio_model: str | None = None
    """An installed spaCy pipeline, so that presidio finds names as well."""
    seed: int = 0
    """Seed of the search for near duplicates."""

    def __post_init__(self) -> None:
        asked = (self.scrub,) if isinstance(self.scrub, str) else tuple(dict.fromkeys(self.scrub))
        object.__setattr__(self, "scrub", KINDS if "all" in asked else asked)
        lists = (self.drop,) if isinstance(self.drop, str | os.PathLike) else self.drop
        object.__setattr__(self, "drop", tuple(map(Path, lists)))
        if self.documents not in get_args(Duplicates):
            raise LeakscopeError(f"--documents must be one of {', '.join(get_args(Duplicates))}.")
        if self.sentences not in get_args(Repeats):
            raise LeakscopeError(f"--sentences must be one of {', '.join(get_args(Repeats))}.")
        if not 0 < self.threshold <= 1:
            raise LeakscopeError("The similarity threshold must be above 0 and at most 1.")
        if self.shingle < 1 or self.min_words < 1:
            raise LeakscopeError("--shingle and --min-words must be at least 1.")
        if self.min_users is not None and self.min_users < 2:
            raise LeakscopeError("--min-users must be at least 2: every word has one user.")
        if self.seed < 0:
            raise LeakscopeError("The seed must be at least 0.")
        if self.presidio_model is not None and not self.presidio:
            raise LeakscopeError("A presidio model needs --presidio.")
        check_kinds(self.scrub)
        check_phone_region(self.phone_region)
        if self.phone_region is not None and "phone" not in self.scrub:
            raise LeakscopeError("A phone region needs --scrub phone or --scrub all.")
        if not self.steps:
            raise LeakscopeError(
                "Nothing to do: choose among --documents exact|near, --sentences exact, "
                "--scrub KIND, --presidio, --min-users and --drop FILE."
            )

    @property
    def steps(self) -> int:
        """How many steps there are."""
        wanted = (
            bool(self.drop),
            self.documents != "none",
            self.sentences != "none",
            bool(self.scrub) or self.presidio,
            self.min_users is not None,
        )
        return sum(wanted)
