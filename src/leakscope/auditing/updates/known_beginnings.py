"""Canaries whose first words the attacker knows: scores and ranks of the others, behind these."""

from dataclasses import replace

from leakscope.auditing.updates.given_sequences import (
    NO_SEARCH,
    UNKNOWN_WORD,
    GivenSequence,
    scored_sequences,
)
from leakscope.auditing.updates.opened_pair import OpenedPair
from leakscope.auditing.updates.update_search import search_update
from leakscope.engine.kept_chunks import NOWHERE, KeptChunks
from leakscope.engine.progress import Progress, silent
from leakscope.records.errors import LeakscopeError
from leakscope.records.updates.diff_record import ScoredSequence
from leakscope.updates.diff_settings import DiffSettings


def scored_behind(
    opened: OpenedPair,
    canaries: list[GivenSequence],
    settings: DiffSettings,
    progress: Progress,
    kept: KeptChunks = NOWHERE,
) -> list[ScoredSequence]:
    """A row for each canary. Where a rank cannot be told exactly, a search behind the canary's own
    first words bounds it, unless there is to be none. What is `kept` is not made
    again.
    """
    known = settings.known
    short = sum(len(each.words) <= known for each in canaries)
    if short:
        raise LeakscopeError(
            f"{short} canaries have no word behind the first {known}; give a smaller --known."
        )
    found = []
    for number, each in enumerate(canaries, start=1):
        row = _scored(opened, each, settings, kept)
        found.append(row.model_copy(update={"known": known}))
        progress("rank", number, len(canaries), "")
    return found


def _scored(
    opened: OpenedPair, canary: GivenSequence, settings: DiffSettings, kept: KeptChunks
) -> ScoredSequence:
    prefix, rest = tuple(canary.words[: settings.known]), canary.words[settings.known :]
    given = [replace(canary, words=rest)]
    if not opened.has_tokens and set(prefix) - set(opened.pair.entries):
        (row,) = scored_sequences(opened, given, replace(settings, exact_rows=0), (), [], silent)
        none = {
            "score": None,
            "relative_score": None,
            "old": None,
            "new": None,
            "entry_score": None,
        }
        return row.model_copy(update=none | {"reason": UNKNOWN_WORD})
    (row,) = scored_sequences(opened, given, settings, prefix, [], silent, kept)
    if row.reason != NO_SEARCH or settings.no_search:
        return row
    beams = search_update(opened, replace(settings, length=len(rest)), prefix, silent, kept)
    bounded = replace(settings, exact_rows=0)
    (row,) = scored_sequences(opened, given, bounded, prefix, beams, silent, kept)
    return row
