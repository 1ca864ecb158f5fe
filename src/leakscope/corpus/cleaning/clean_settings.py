"""Which steps `corpus clean` takes, and how."""

from dataclasses import dataclass

from leakscope.corpus.personal_data.kinds import check_kinds
from leakscope.records.errors import LeakscopeError

DOCUMENTS = ("none", "exact", "near")
SENTENCES = ("none", "exact")


@dataclass(frozen=True)
class CleanSettings:
    """Which steps to take, and how."""

    documents: str = "none"
    """Remove "exact" duplicates of documents, or "near" ones too."""
    sentences: str = "none"
    """Remove sentences that an earlier document has: "exact"."""
    across_users: bool = False
    """What another user said before is a duplicate as well."""
    threshold: float = 0.8
    """The least Jaccard similarity of near-duplicates."""
    shingle: int = 5
    """Words in a row that make one element of the sets that are compared."""
    min_words: int = 8
    """Shorter sentences may be said again."""
    scrub: tuple[str, ...] = ()
    """Kinds of personal data to replace; see `pii.KINDS`."""
    min_users: int | None = None
    """Words used by fewer users are replaced."""
    presidio: bool = False
    """Replace what presidio finds, too."""
    presidio_model: str | None = None
    """An installed spaCy pipeline for presidio; without one it finds patterns only."""
    seed: int = 0
    """Of the hashes that find near-duplicates."""

    def __post_init__(self) -> None:
        if self.documents not in DOCUMENTS:
            raise LeakscopeError(f"Duplicate documents are one of {', '.join(DOCUMENTS)}.")
        if self.sentences not in SENTENCES:
            raise LeakscopeError(f"Repeated sentences are one of {', '.join(SENTENCES)}.")
        if not 0 < self.threshold <= 1:
            raise LeakscopeError("The similarity threshold must be above 0 and at most 1.")
        if self.shingle < 1 or self.min_words < 1:
            raise LeakscopeError("The words of a shingle and of a sentence must be at least 1.")
        if self.min_users is not None and self.min_users < 2:
            raise LeakscopeError("--min-users must be at least 2: every word has one user.")
        if self.seed < 0:
            raise LeakscopeError("The seed must be at least 0.")
        if self.presidio_model is not None and not self.presidio:
            raise LeakscopeError("A presidio model needs --presidio.")
        check_kinds(self.scrub)
        if not self.steps:
            raise LeakscopeError(
                "Nothing to do: choose among --documents exact|near, --sentences exact, "
                "--scrub KIND, --presidio and --min-users."
            )

    @property
    def steps(self) -> int:
        """How many steps there are."""
        wanted = (
            self.documents != "none",
            self.sentences != "none",
            bool(self.scrub) or self.presidio,
            self.min_users is not None,
        )
        return sum(wanted)
