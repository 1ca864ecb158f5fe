"""`manifest.json` of a corpus: what it was made from, how, and what came out."""

from pydantic import BaseModel, ConfigDict

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.user_warnings import CorpusWarning, user_warnings

SCHEMA_VERSION = 1


class SplitCounts(BaseModel):
    """Sizes of the training or the validation part."""

    model_config = ConfigDict(frozen=True)

    users: int
    documents: int
    words: int


class InputFile(BaseModel):
    """One input: its name without the path, its format, and a digest of its bytes."""

    model_config = ConfigDict(frozen=True)

    name: str
    format: str
    digest: str


class OriginFile(BaseModel):
    """A file that documents come from: its name without the path, and a digest of its bytes."""

    model_config = ConfigDict(frozen=True)

    name: str
    digest: str | None = None
    """None: it was written together with the corpus."""

    @staticmethod
    def of(given: InputFile) -> "OriginFile":
        """An input as the origin of its rows."""
        return OriginFile(name=given.name, digest=given.digest)


class CorpusManifest(BaseModel):
    """The corpus at a glance."""

    model_config = ConfigDict(frozen=True)

    schema_version: int
    versions: dict[str, str]
    settings: BuildSettings
    inputs: list[InputFile]
    digest: str
    """Digest of the documents in user order, with users and splits; sharding does not change it,
    nor does where they come from."""
    lexicon_digest: str
    lexicon: int
    """How many distinct words there are."""
    shards: list[str]
    train: SplitCounts
    validation: SplitCounts
    users: int
    """Distinct users in either part."""
    documents_per_user: dict[str, float]
    """Quantiles over users: min, p25, median, p75, p90, p99, max, and the mean."""
    set_aside: dict[str, int]
    """Rows that could not be used, by reason."""
    doubtful: dict[str, int] | None = None
    """Documents by what is doubtful about them; one may count twice. None: not counted, by an
    earlier version, or in a corpus that was made from another."""
    most_words: int | None = None
    """Words of the user who has the most; earlier versions did not count them."""
    split_given: bool = False
    """Whether the input itself said which documents are held out, so that they have not been drawn
    here."""
    origins: list[OriginFile] = []
    """The files that documents come from: a document has its place in this list, and its row.
    Through cleaning they stay those of the first corpus. Earlier versions kept none."""
    sealed: bool = False
    """Whether a seal lists the digests of all files; earlier versions had none."""

    @property
    def warnings(self) -> list[CorpusWarning]:
        """What makes figures per user doubtful."""
        documents = self.train.documents + self.validation.documents
        words = self.train.words + self.validation.words
        most = {"documents": (self.documents_per_user.get("max"), documents)}
        return user_warnings(self.users, most | {"words": (self.most_words, words)})

    @property
    def says_what_was_trained_on(self) -> bool:
        """Whether anybody who trains on this corpus elsewhere has the same training documents:
        the input said which they are, or none is held out.
        """
        return self.split_given or not self.validation.documents
