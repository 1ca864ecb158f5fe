"""What `diff` can be told."""

from dataclasses import dataclass, field
from pathlib import Path

from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import TrainedOn

TOKEN_WIDTH, TOKEN_ROWS, WORD_ROWS = 2000, 500, 20_000
"""How many sequences are looked at by default: what is carried of tokens is large."""


@dataclass(frozen=True)
class DiffSettings:
    """How an attacker with two snapshots searches, and what the result shows."""

    length: int = 5
    """Look for sequences of 1 up to so many words (tokens of a Hugging Face model)."""
    width: int | None = None
    """Follow so many of the one-word sequences. By default all words that the model knows, and
    2,000 tokens of a Hugging Face model."""
    constant_width: bool = False
    """Follow as many at every step. By default half as many at each further one."""
    groups: int = 1
    """Cut the first words into so many groups by their scores and search behind each alone, for
    sequences that do not all begin alike."""
    prefix: str = ""
    """Words that the attacker knows to stand before the sequences."""
    relative: bool = False
    """Search by the relative score: each rise in probability divided by the old probability."""
    floor: float = 1e-6
    """In the relative score, old probabilities count as this at least."""
    top_k: int | None = None
    """The attacker sees only so many of the most probable words; the others count as 0."""
    keep: int = 100
    """List so many sequences of each length."""
    deleted: bool = False
    """Look for what the new model no longer has: the two models change their roles. For updates by
    which users' data was deleted."""
    no_search: bool = False
    """Only score what --sequences and --canaries name."""
    sequences: Path | None = field(default=None, metadata={"group": "Given sequences"})
    """A text file with a sequence on each line: score these, in words."""
    canaries: Path | None = field(default=None, metadata={"group": "Given sequences"})
    """A directory of canary plant: score its canaries, and tell their differential ranks."""
    known: int = field(default=0, metadata={"group": "Given sequences"})
    """The attacker knows so many first words of each canary: score and rank the others behind
    them."""
    exact_rows: int | None = field(default=None, metadata={"group": "Given sequences"})
    """Tell a rank exactly if so many beginnings are enough to look at; 0: never. By default 20,000,
    and 500 for tokens of a Hugging Face model."""
    old_corpus: Path | None = field(default=None, metadata={"group": "Whose it is"})
    """The old model's training data."""
    new_corpus: Path | None = field(default=None, metadata={"group": "Whose it is"})
    """The new model's training data, or only what was added: count every sequence in it. The
    difference is what the old corpus does not have; without one it is all of this."""
    trained_on: TrainedOn | None = field(default=None, metadata={"group": "Whose it is"})
    """Which documents of the corpora the models were trained on. By default train for models of
    leakscope train, and all for others."""
    reveal: bool = False
    """Write words and user keys, not only lengths and numbers."""
    threads: int = 2
    """CPU threads."""

    def __post_init__(self) -> None:
        if self.length < 1 or self.keep < 1 or self.groups < 1 or self.threads < 1:
            raise LeakscopeError("--length, --keep, --groups and --threads must be at least 1.")
        if self.width is not None and self.width < 1:
            raise LeakscopeError("--width must be at least 1, or nothing is followed.")
        if self.known < 0 or (self.exact_rows is not None and self.exact_rows < 0):
            raise LeakscopeError("--exact-rows and --known must be at least 0.")
        if self.known and (self.canaries is None or self.prefix):
            raise LeakscopeError(
                "--known is about the first words of canaries; give --canaries, and no --prefix."
            )
        if not 0 < self.floor <= 1:
            raise LeakscopeError("--floor is a probability: above 0 and at most 1.")
        if self.top_k is not None and self.top_k < 1:
            raise LeakscopeError("--top-k must be at least 1.")
        if self.old_corpus is not None and self.new_corpus is None:
            raise LeakscopeError("--old-corpus goes with --new-corpus; give both.")
        if self.deleted and (self.old_corpus is None) != (self.new_corpus is None):
            raise LeakscopeError(
                "What was deleted is the difference of both corpora; give --old-corpus and "
                "--new-corpus, or neither."
            )
        if self.no_search and self.sequences is None and self.canaries is None:
            raise LeakscopeError("Without a search, give --sequences or --canaries.")
