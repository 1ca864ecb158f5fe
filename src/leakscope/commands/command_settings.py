"""Settings of commands that have only a few, and what `train` is told besides its settings."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from leakscope.models.word.architecture import Kind
from leakscope.records.errors import LeakscopeError
from leakscope.records.user_groups import GROUP_USERS


@dataclass(frozen=True)
class DemoSettings:
    """How the demo is run."""

    seed: int = 0
    """Of the text and the training."""
    threads: int = 2
    """CPU threads."""


@dataclass(frozen=True)
class CompareSettings:
    """Which runs may stand side by side."""

    allow_mixed: bool = False
    """Compare even runs on other corpora or other parts of one, or with another top-k."""
    group_users: int = GROUP_USERS
    """For disparate impact: set so many users with the most training documents against as many with
    the fewest."""

    def __post_init__(self) -> None:
        if self.group_users < 1:
            raise LeakscopeError("--group-users must be at least 1.")


@dataclass(frozen=True)
class HardenSettings:
    """Which interfaces are tried, and what the block list may cost."""

    thresholds: tuple[float, ...] = field(
        default=(1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0),
        metadata={"option": "threshold"},
    )
    """Be silent where 1/p of the best suggestion exceeds this. May be repeated."""
    block_list_rate: float = 0.001
    """Share of innocent word sequences that the block list may hit."""
    also: tuple[Path, ...] = ()
    """Another run whose unique sequences the list is to block, such as one made with --block-list:
    what was hidden lets other words move up. May be repeated."""
    no_block_list: bool = False
    """Make no block list."""
    threads: int = 2
    """CPU threads."""

    def __post_init__(self) -> None:
        if not 0 < self.block_list_rate < 1:
            raise LeakscopeError("The block list's rate must lie between 0 and 1.")


@dataclass(frozen=True)
class ExportSettings:
    """What a copy of a model is for."""

    public: bool = False
    """Leave out all that the guarantee of the training does not cover, as far as it can be left
    out. The model must be private, and no word may be in its vocabulary because of one user."""


@dataclass(frozen=True)
class PersonSettings:
    """Whom the page is about."""

    user: str | None = None
    """The user's key, as the corpus has it. A redacted run has no keys; then --corpus is needed."""
    number: int | None = None
    """The user's number in the run, instead of the key."""
    corpus: Path | None = None
    """The corpus that the report was made on, to look up the user there."""

    def __post_init__(self) -> None:
        if (self.user is None) == (self.number is None):
            raise LeakscopeError("Name the user by either --user or --number.")
        if self.number is not None and not 0 <= self.number < 1 << 31:
            raise LeakscopeError("--number is a user's number, from 0 on.")


@dataclass(frozen=True)
class RenderSettings:
    """What a run is written again with."""

    redact: bool = False
    """Leave out all words and user keys, as a report without --reveal does: what can be shared."""
    reveal: bool = False
    """Fill in the words and user keys that a redacted run leaves out, from --corpus."""
    corpus: Path | None = None
    """The corpus that the report was made on; needed to reveal."""

    def __post_init__(self) -> None:
        if self.redact == self.reveal:
            raise LeakscopeError("Give either --redact or --reveal.")
        if self.reveal != (self.corpus is not None):
            raise LeakscopeError("--reveal and --corpus belong together; give both or neither.")


@dataclass(frozen=True)
class SuggestSettings:
    """How long the action list is, what it tells, and what it drops."""

    most: int = 20
    """Actions of each kind."""
    drop: Literal["documents", "users"] = "documents"
    """What the file tells corpus clean to drop; the rest of it is for people to review."""
    reveal: bool = False
    """Name users by their keys and files by their names, as in a list from a revealed run; needs
    the corpus."""

    def __post_init__(self) -> None:
        if self.most < 1:
            raise LeakscopeError("--most must be at least 1.")
        if self.drop not in ("documents", "users"):
            raise LeakscopeError("--drop must be documents or users.")


@dataclass(frozen=True)
class ShowSettings:
    """Which documents are shown, and how much of them."""

    document: tuple[int, ...] = ()
    """The number of a document. May be repeated."""
    drop: tuple[Path, ...] = ()
    """A list of leakscope suggest --out: show what it drops. May be repeated."""
    reveal: bool = False
    """Show the text."""

    def __post_init__(self) -> None:
        if not self.document and not self.drop:
            raise LeakscopeError("Say which documents to show, by --document N or --drop FILE.")


@dataclass(frozen=True)
class ProbeSettings:
    """What is shown after a prefix."""

    top_k: int = 5
    """How many suggestions to show."""
    length: int = 20
    """Longest continuation, in words; of a Hugging Face model, in tokens."""
    block_list: Path | None = None
    """A block list; what it blocks is not shown."""

    def __post_init__(self) -> None:
        if self.top_k < 1 or self.length < 0:
            raise LeakscopeError("--top-k must be at least 1 and --length at least 0.")


@dataclass(frozen=True)
class VerifySettings:
    """Signatures, which verify makes and checks."""

    sign: Path | None = None
    """Sign what is intact with this SSH key, by ssh-keygen. The signature is over the seal, which
    has the digests of all files."""
    signers: Path | None = None
    """Check signatures: a file of allowed signers, as in the manual of ssh-keygen."""
    signer: str | None = None
    """Who must have signed, as that file names them."""

    def __post_init__(self) -> None:
        if (self.signers is None) != (self.signer is None):
            raise LeakscopeError("--signers and --signer belong together; give both.")


@dataclass(frozen=True)
class TrainChoices:
    """What a training is made of, besides its settings."""

    arch: Kind | None = None
    """The architecture, in the papers' standard size; lstm by default."""
    preset: str | None = field(
        default=None, metadata={"choices": "leakscope.models.word.architecture:PRESETS"}
    )
    """A published configuration."""
    warm_start: Path | None = field(default=None, metadata={"group": "Training"})
    """A model of the same architecture to start from."""
    vocabulary_from: Path | None = field(default=None, metadata={"group": "Training"})
    """A model whose vocabulary to take, instead of the corpus's own words."""
    workers: int = field(default=1, metadata={"group": "Training"})
    """Processes on this machine that share every step, in plain and in private training."""
    threads: int | None = field(default=None, metadata={"group": "Training"})
    """CPU threads of all workers together; by default all."""
    mitigation: str = field(
        default="none",
        metadata={
            "group": "Training",
            "choices": "leakscope.training.mitigations.registry:MITIGATIONS",
        },
    )
    """How to train so that less is given away: dp is differential privacy for users
    (docs/privacy.md), adversarial and triplet are regularizers (docs/regularizers.md)."""

    def __post_init__(self) -> None:
        if self.workers < 1 or (self.threads is not None and self.threads < 1):
            raise LeakscopeError("--workers and --threads must be at least 1.")
