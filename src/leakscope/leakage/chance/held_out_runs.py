"""Run the model over the held-out documents as over D, for decoys."""

from collections.abc import Callable
from dataclasses import replace

from leakscope.leakage.chance.decoys import Decoys, find_decoys
from leakscope.leakage.correct_runs.corpus_scoring import CorpusScoring
from leakscope.leakage.correct_runs.score_stage import words_in
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.models.interface import LanguageModel
from leakscope.records.measured import Measured
from leakscope.records.runs.report_settings import ReportSettings

STAGE = "held-out"
NO_HELD_OUT = "the corpus has no held-out documents, which chance is measured on"
NOT_ASKED = "held-out documents were not to be read (--decoy-words 0)"
TOO_FEW = "too few held-out documents were drawn; give more --decoy-words"


def held_out_decoys(
    scoring: CorpusScoring,
    digest: str,
    load: Callable[[], LanguageModel],
    settings: ReportSettings,
    counted: CountedSequences,
    piece: int,
    threads: int,
) -> Measured[Decoys]:
    """The decoys of a model whose S is `counted`, from all held-out documents or from about as many
    words as are asked for, in pieces of so many; or why there are none.
    """
    corpus, asked = scoring.corpus, settings.decoy_words
    total = corpus.held_out.words
    if not total:
        return Measured.absent(NO_HELD_OUT)
    if asked == 0:
        return Measured.absent(NOT_ASKED)
    share = 1.0 if asked is None else min(1.0, asked / total)
    held = replace(scoring, corpus=corpus.held_out_as_training(), share=share, stage=STAGE)
    parts = held.score(digest, load, replace(settings, full_perplexity=False), piece)
    words = sum(words_in(part) for part in parts)
    if not words:
        return Measured.absent(TOO_FEW)
    return Measured(find_decoys(parts, words, counted, corpus, threads))
