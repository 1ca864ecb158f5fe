"""Stand-ins: models like the audited one, put in its place, each before users that it never saw.

They are trained in the same way, without a part of the users each. Whatever they show of the users
that they were trained without is chance: general language, and luck. They read the same documents
as the model does, so that their unique sequences are as many as the model would show without any
memory of its users, one for one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from leakscope.leakage.correct_runs.corpus_scoring import CorpusScoring
from leakscope.leakage.sequences.counted import CountedSequences, SequenceCounting
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.models.interface import LanguageModel
from leakscope.records.models.stand_in_record import StandInsRecord
from leakscope.records.runs.report_settings import ReportSettings

STAGE = "stand-ins"


@dataclass(frozen=True)
class StandIns:
    """Cross-fitted models, as the report needs to know them."""

    record: StandInsRecord
    load: Callable[[], LanguageModel]
    """Brings them as one model, behind the audited model's interface, in any process."""
    identity: AnswerIdentity
    """All that decides their answers."""

    def shown(
        self,
        scoring: CorpusScoring,
        load: Callable[[], LanguageModel],
        settings: ReportSettings,
        piece: int,
        counting: SequenceCounting,
    ) -> CountedSequences:
        """What they give away of D, as the model's S is collected and counted; by `load`, and so
        many words at a time.
        """
        held = replace(scoring, stage=STAGE)
        plain = replace(settings, full_perplexity=False)
        parts = held.score(self.identity, load, plain, piece)
        return counting.count(parts)[0]
