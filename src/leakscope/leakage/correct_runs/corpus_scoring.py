"""Score a corpus by a model, on any engine, and keep every piece that is done."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.engine.stages import Engine, output_of
from leakscope.leakage.correct_runs.score_stage import PIECE_WORDS, Piece, ScoreStage, pieces_of
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import digest_of, is_intact
from leakscope.records.documents import IntArray
from leakscope.records.runs.report_settings import ReportSettings


@dataclass(frozen=True)
class CorpusScoring:
    """Scores D by any model, and keeps what is done in `work`."""

    corpus: Corpus
    work: Path
    engine: Engine
    progress: Progress
    users: IntArray | None = None
    """Whose documents are scored; None: all users'."""
    share: float = 1.0
    """Of the documents that are scored."""
    stage: str = "score"
    """What the stage is called."""

    def words(self) -> int:
        """How many there are to score, before a share is drawn."""
        if self.users is None:
            return self.corpus.counts().words
        return sum(piece.words for piece in pieces_of(self.corpus, PIECE_WORDS, self.users))

    def score(
        self,
        model: AnswerIdentity,
        load: Callable[[], LanguageModel],
        settings: ReportSettings,
        words: int,
    ) -> list[Path]:
        """The scored pieces of about `words` words, by the model that `load` brings, each kept
        under everything that decides it.
        """
        pieces = pieces_of(self.corpus, words, self.users)
        return self.engine.map(
            self._stage(pieces, load, settings),
            self._keys(model, settings, pieces),
            self.work,
            sizes=[piece.words for piece in pieces],
            unit="words",
            keep=is_intact,
            progress=self.progress,
        )

    def kept_words(self, model: AnswerIdentity, settings: ReportSettings, words: int) -> int:
        """How many words are in scored pieces that are there as they were written."""
        pieces = pieces_of(self.corpus, words, self.users) if self.work.is_dir() else []
        keys = self._keys(model, settings, pieces)
        return sum(
            piece.words
            for piece, key in zip(pieces, keys, strict=True)
            if is_intact(output_of(self.stage, key, self.work))
        )

    def _stage(
        self, pieces: Sequence[Piece], load: Callable[[], LanguageModel], settings: ReportSettings
    ) -> ScoreStage:
        return ScoreStage(
            self.corpus.path,
            self.corpus.training,
            tuple(pieces),
            load,
            settings.top_k,
            settings.full_perplexity,
            self.share,
            self.users,
            self.stage,
        )

    def _keys(
        self, model: AnswerIdentity, settings: ReportSettings, pieces: Sequence[Piece]
    ) -> list[str]:
        """Everything that decides a scored piece, of each."""
        identity = {
            "model": model.digest,
            "lexicon": self.corpus.manifest.lexicon_digest,
            "top_k": settings.top_k,
            "full": settings.full_perplexity,
            "confidence": settings.confidence,
            "block_list": settings.block_list,
            "leakscope": version("leakscope"),
            "trained_on": self.corpus.training,
            "users": None if self.users is None else self.users.tolist(),
            **({} if self.share >= 1 else {"share": self.share}),
        }
        shards = [shard.digest for shard in self.corpus.shards]
        return [
            digest_of({**identity, "shard": shards[at.shard], "piece": at[1:]}) for at in pieces
        ]
