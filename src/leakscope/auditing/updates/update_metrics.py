"""The figures of a diff that gates look at."""

from collections.abc import Sequence

from leakscope.records.updates.diff_record import DiffMetrics, FoundSequence, ScoredSequence

NO_SEARCH = "there was no search"
NO_DATA = "it takes the training data: give --new-corpus, and --old-corpus if there is one"
NO_CANARIES = "it takes canaries: give --canaries"
NO_RANKS = "no planted canary could be ranked"


def metrics_of(
    found: Sequence[FoundSequence],
    scored: Sequence[ScoredSequence],
    *,
    searched: bool,
    counted: bool,
) -> DiffMetrics:
    """From the rows before they are redacted."""
    reasons: dict[str, str] = {}
    if not searched:
        reasons |= dict.fromkeys(("found", "best_score", *_COUNTED), NO_SEARCH)
    elif not counted:
        reasons |= dict.fromkeys(_COUNTED, NO_DATA)
    known = searched and counted
    owned = [row for row in found if row.one_user]
    return DiffMetrics(
        found=len(found) if searched else None,
        best_score=max((row.score for row in found), default=0.0) if searched else None,
        in_difference_found=sum(bool(row.total_in_difference) for row in found) if known else None,
        one_user_found=len(owned) if known else None,
        one_user_longest=max(map(_whole_words, owned), default=0) if known else None,
        users_found=len({row.user for row in owned}) if known else None,
        rank_zero_canaries=_rank_zero(scored, reasons),
        reasons=reasons,
    )


_COUNTED = ("in_difference_found", "one_user_found", "one_user_longest", "users_found")


def _whole_words(row: FoundSequence) -> int:
    return len(row.words or ()) - row.unfinished


def _rank_zero(scored: Sequence[ScoredSequence], reasons: dict[str, str]) -> int | None:
    planted = [row for row in scored if row.state == "planted"]
    ranked = [row for row in planted if row.rank is not None]
    if not ranked:
        reasons["rank_zero_canaries"] = NO_RANKS if planted else NO_CANARIES
        return None
    return sum(row.rank == 0 for row in ranked)
