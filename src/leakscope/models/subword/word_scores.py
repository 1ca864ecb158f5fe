"""From answers for tokens to answers for words."""

import numpy as np

from leakscope.models.ranking.score_sheet import ScoreSheet
from leakscope.models.subword.word_tokens import Tokens
from leakscope.records.documents import BoolArray, Scores


def deciding_tokens(tokens: Tokens) -> BoolArray:
    """[p] tokens on which it depends whether a word is correct."""
    return _needed_by(tokens, ~tokens.never)


def _needed_by(tokens: Tokens, words: BoolArray) -> BoolArray:
    needed, by = tokens.alignment.needs()
    found = np.zeros(len(tokens.labels), np.bool_)
    found[needed[words[by]]] = True
    return found


def words_in_doubt(tokens: Tokens, sheet: ScoreSheet) -> BoolArray:
    """[w] words whose correctness depends on a near tie. Near ties that decide nothing, since
    another token of the word is surely wrong, are taken off the sheet.
    """
    wrong = sheet.wrong()
    hopeless = tokens.never | tokens.alignment.any_of(wrong)
    doubtful = tokens.alignment.any_of(sheet.near_tie) & ~hopeless
    sheet.near_tie &= _needed_by(tokens, doubtful)
    return doubtful


def to_word_scores(tokens: Tokens, sheet: ScoreSheet, doubtful: BoolArray, every: bool) -> Scores:
    """The answers for tokens as answers for words."""
    found, alignment = sheet.scores(), tokens.alignment
    rank = np.where(tokens.never, sheet.k, alignment.worst_of(found.rank)).astype(np.int32)
    known = np.ones(len(rank), np.bool_) if every else rank < sheet.k
    log_prob = np.where(known, alignment.sums_of(found.log_prob), np.nan)
    top = np.where(known, alignment.sums_of(found.top_log_prob), np.nan)
    return Scores(rank, log_prob.astype(np.float32), top.astype(np.float32), doubtful)
