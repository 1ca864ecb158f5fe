"""`clean.json`: what each step of `corpus clean` changed. A step that was not asked for is null."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from leakscope.corpus.manifest import CorpusManifest, SplitCounts


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class Removed(_Record):
    """How many were removed because the same user, or another one, has an earlier copy."""

    within: int = 0
    across: int = 0

    @property
    def total(self) -> int:
        """Both together."""
        return self.within + self.across


class DropListFile(_Record):
    """An action list: its name without the path, and a digest of its bytes."""

    name: str
    digest: str


class ListedDrops(_Record):
    """Documents dropped because an action list says so, of both parts."""

    lists: list[DropListFile]
    named: int
    """Documents that a list names."""
    of_named_users: int
    """Further documents, of the users that a list names."""
    named_users: int
    """How many users that are."""
    training: int
    """How many of all of them were training documents."""
    users: int
    """Users who lost a document."""
    left: int
    """Actions on the lists that are for people, such as users to review."""


class DuplicateDocuments(_Record):
    """Training documents that repeat an earlier one."""

    exact: Removed
    near: Removed | None
    """None if only exact duplicates were asked for."""
    users: int
    """Users who lost a document."""


class RepeatedSentences(_Record):
    """Sentences that stood in an earlier training document."""

    removed: Removed
    documents: int
    """Documents that lost a sentence, the next ones included."""
    emptied: int
    """Documents removed because nothing was left."""
    users: int


class Scrubbed(_Record):
    """What was replaced by placeholders, by kind."""

    replaced: dict[str, int]
    documents: int
    users: int


class RareWords(_Record):
    """Words that fewer than `min_users` training users have, replaced by one placeholder."""

    types: int
    tokens: int
    documents: int
    users: int


class Sizes(_Record):
    """How large a corpus is."""

    users: int
    train: SplitCounts
    validation: SplitCounts

    @staticmethod
    def of(manifest: CorpusManifest) -> "Sizes":
        """The sizes in a corpus's manifest."""
        return Sizes(users=manifest.users, train=manifest.train, validation=manifest.validation)


class Changes(_Record):
    """What each step changed; null for those that were not asked for."""

    dropped: ListedDrops | None = None
    documents: DuplicateDocuments | None = None
    sentences: RepeatedSentences | None = None
    scrub: Scrubbed | None = None
    rare_words: RareWords | None = None


class CleanSummary(_Record):
    """What all steps changed, in their order."""

    schema_version: int = 1
    corpus_digest: str
    """Of the corpus that was cleaned."""
    settings: dict[str, Any]
    before: Sizes
    after: Sizes
    dropped: ListedDrops | None = None
    documents: DuplicateDocuments | None = None
    sentences: RepeatedSentences | None = None
    scrub: Scrubbed | None = None
    rare_words: RareWords | None = None
