"""What a diff will cost, so that the time that is left over all of it can be told."""

from leakscope.auditing.updates.opened_pair import OpenedPair
from leakscope.auditing.updates.update_search import UpdateData, plan_of
from leakscope.engine.time_left import PlannedStage
from leakscope.models.interface import Prefix
from leakscope.updates.diff_settings import TOKEN_ROWS, WORD_ROWS, DiffSettings

SEARCH, COUNT, RANK = "search", "count", "rank"
# Costs in prefixes that both models extend by all entries.
COUNTED = 0.002
"""A word of the training data, in all counts of it."""
LOOKED_AT = 0.1
"""Of the prefixes that may be looked at for a rank, the share that is, about."""


def diff_stages(
    opened: OpenedPair, data: UpdateData, settings: DiffSettings, prefix: Prefix, given: int
) -> list[PlannedStage]:
    """Of a diff that is given so many sequences."""
    found = []
    if not settings.no_search:
        found.append(PlannedStage(SEARCH, search_rows(opened, settings, prefix)))
    found.append(PlannedStage(COUNT, 1 + COUNTED * words_counted(data)))
    if given:
        usual = TOKEN_ROWS if opened.has_tokens else WORD_ROWS
        rows = usual if settings.exact_rows is None else settings.exact_rows
        found.append(PlannedStage(RANK, given * (1 + LOOKED_AT * rows)))
    return found


def search_rows(opened: OpenedPair, settings: DiffSettings, prefix: Prefix) -> int:
    """How many prefixes a search extends."""
    return plan_of(opened, settings, prefix).rows(len(opened.pair.entries))


def words_counted(data: UpdateData) -> int:
    """Of the training data of both models, as far as sequences are counted in it."""
    if data.new is None:
        return 0
    return sum(corpus.counts().words for corpus in (data.old, data.new) if corpus is not None)
