"""How much of a killed diff is kept, found without asking a model for more than its beginning."""

from collections.abc import Sequence
from itertools import compress

from leakscope.auditing.updates.given_sequences import GivenSequence, rank_batches
from leakscope.auditing.updates.opened_pair import OpenedPair
from leakscope.auditing.updates.update_search import plan_of, rule_of
from leakscope.engine.kept_chunks import KeptChunks
from leakscope.models.interface import Prefix
from leakscope.updates.diff_settings import DiffSettings
from leakscope.updates.kept_search import KeptSearch


def kept_rows(opened: OpenedPair, settings: DiffSettings, prefix: Prefix, kept: KeptChunks) -> int:
    """How many sequences of the search need not be extended again."""
    if not kept.is_begun:
        return 0
    plan, root = plan_of(opened, settings, prefix), opened.pair.begin(prefix)
    known = KeptSearch.of(kept, plan, rule_of(settings), prefix, root)
    return known.rows_done(plan, root)


def kept_ranks(
    opened: OpenedPair,
    given: Sequence[GivenSequence],
    settings: DiffSettings,
    prefix: Prefix,
    kept: KeptChunks,
) -> int:
    """How many of the given sequences were ranked already."""
    if not kept.is_begun:
        return 0
    behind = [each.words for each in given if each.canary and settings.known]
    plain = [each.words for each in given if not (each.canary and settings.known)]
    cases = [(tuple(said[: settings.known]), [said[settings.known :]]) for said in behind]
    total = 0
    for before, said in [(prefix, plain), *cases]:
        batches = rank_batches(opened, said, settings, before)
        total += sum(compress(batches.sizes, kept.are_kept(batches)))
    return total
