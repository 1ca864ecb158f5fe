"""Run the model over the held-out documents as over D, for decoys."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from leakscope.engine.progress import only_warnings
from leakscope.engine.stages import Engine
from leakscope.leakage.chance.decoys import Decoys, HeldOutShare, find_decoys
from leakscope.leakage.correct_runs.corpus_scoring import CorpusScoring
from leakscope.leakage.correct_runs.score_stage import words_in
from leakscope.leakage.counts.corpus_counting import CorpusCounting
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.models.interface import LanguageModel
from leakscope.records.measured import Measured
from leakscope.records.runs.report_settings import ReportSettings

STAGE = "held-out"
NO_HELD_OUT = "the corpus has no held-out documents, which chance is measured on"
NONE_OF_THESE = (
    "the audited users have no held-out documents, which their chance would be measured on; "
    "--stand-ins crossfit needs none"
)
NOT_ASKED = "held-out documents were not to be read (--decoy-words 0)"
TOO_FEW = "too few held-out documents were drawn; give more --decoy-words"


@dataclass(frozen=True)
class HeldOutRuns:
    """A model and how it is run; `load` brings it, whose answers `model` decides."""

    scoring: CorpusScoring
    model: AnswerIdentity
    load: Callable[[], LanguageModel]
    piece: int
    """Words that are scored at a time."""
    compiled: Engine
    """Counts."""

    def decoys(
        self, settings: ReportSettings, counted: CountedSequences, words: int
    ) -> Measured[Decoys]:
        """The decoys that answer for the unique sequences of S, `counted`, which comes from so many
        words; from all held-out documents of the same users, or from about as many words as are
        asked for. Or why there are none.
        """
        corpus = self.scoring.corpus
        if not corpus.held_out.words:
            return Measured.absent(NO_HELD_OUT)
        if settings.decoy_words == 0:
            return Measured.absent(NOT_ASKED)
        held, plain = held_out_scoring(self.scoring, settings)
        if not held.words():
            return Measured.absent(NONE_OF_THESE)
        parts = held.score(self.model, self.load, plain, self.piece)
        read = sum(words_in(part) for part in parts)
        if not read:
            return Measured.absent(TOO_FEW)
        self.scoring.progress("chance", 0, 1)
        share = HeldOutShare(read, words, held.share)
        going = only_warnings(self.scoring.progress)
        counting = CorpusCounting(corpus, self.scoring.work, self.compiled, going)
        found = find_decoys(parts, share, counted, counting, held.users)
        self.scoring.progress("chance", 1, 1, f"{len(found)} decoys")
        return Measured(found)


def held_out_scoring(
    scoring: CorpusScoring, settings: ReportSettings
) -> tuple[CorpusScoring, ReportSettings]:
    """How held-out documents are scored, of which there are some, where D is scored so: those of
    the same users, since a decoy that its user repeats is weighed by what comes out of D.
    """
    held = replace(scoring, corpus=scoring.corpus.held_out_as_training(), stage=STAGE)
    if settings.decoy_words is not None:
        share = min(1.0, settings.decoy_words / max(held.words(), 1))
        held = replace(held, share=share)
    return held, replace(settings, full_perplexity=False)
