"""What a study of updates found, in sentences."""

import statistics
from collections.abc import Iterable, Sequence

from leakscope.records.studies.update_study_record import (
    UpdateFoundRow,
    UpdateRow,
    UpdateStudyRecord,
)


def by_scenario(rows: Sequence[UpdateRow]) -> list[list[UpdateRow]]:
    """The rows of each scenario, in the order in which scenarios came."""
    names = dict.fromkeys(row.scenario for row in rows)
    return [[row for row in rows if row.scenario == name] for name in names]


def mean_score(rows: Iterable[UpdateRow]) -> float | None:
    """Over classes; None: none has a score."""
    known = [row.score for row in rows if row.score is not None]
    return statistics.fmean(known) if known else None


def sentences(record: UpdateStudyRecord) -> list[str]:
    """What came out, a sentence for each scenario and each thing that was varied."""
    found = []
    for rows in by_scenario(record.rows):
        found += _of_scenario(plainest(rows))
        found += _of_known(rows)
        found += _of_extra(rows)
        found += _of_trainings(rows)
    for each in record.found:
        if each.scenario == "delete" and each.top_k is None:
            found += _of_deletion(each)
    return found


def plainest(rows: Iterable[UpdateRow], *, free: str = "") -> list[UpdateRow]:
    """Those with the first of the trainings, shares of extra text, numbers of known words and
    attackers; but for what is `free`.
    """
    kept = list(rows)
    for name in ("training", "extra", "known", "top_k"):
        if kept and name != free:
            first = getattr(kept[0], name)
            kept = [row for row in kept if getattr(row, name) == first]
    return kept


def _most_often(rows: Sequence[UpdateRow]) -> list[UpdateRow]:
    """Those with the most insertions."""
    most = max((row.insertions or 0 for row in rows), default=0)
    return [row for row in rows if row.insertions == most]


def _rank_zero(rows: Sequence[UpdateRow]) -> str:
    zero, all_ = sum(row.rank_zero for row in rows), sum(row.canaries for row in rows)
    return f"{zero} of {all_}"


def _of_scenario(rows: Sequence[UpdateRow]) -> list[str]:
    mine = _most_often(rows)
    score = mean_score(mine)
    if score is None:
        return []
    controls = [row.control_high for row in mine if row.control_high is not None]
    chance = (
        f" The greatest score of a canary that was never inserted is {max(controls):.2g}."
        if controls
        else ""
    )
    return [
        f"{mine[0].scenario}: with {mine[0].insertions} insertions, {_rank_zero(mine)} canaries "
        f"have rank 0, and the mean score is {score:.2f}.{chance}"
    ]


def _of_known(rows: Sequence[UpdateRow]) -> list[str]:
    """Scores of fewer words are not compared with those of more."""
    mine = _most_often(plainest(rows, free="known"))
    return [
        f"{mine[0].scenario}: with {mine[0].insertions} insertions, "
        f"{_rank_zero([row for row in mine if row.known == known])} canaries have rank 0 to "
        f"somebody who knows {known} of their words."
        for known in sorted({row.known for row in mine} - {0})
    ]


def _of_extra(rows: Sequence[UpdateRow]) -> list[str]:
    mine = _most_often(plainest(rows, free="extra"))
    shares = sorted({row.extra for row in mine})
    least, most = (
        mean_score([row for row in mine if row.extra == share]) for share in (shares[0], shares[-1])
    )
    if len(shares) < 2 or least is None or most is None:
        return []
    return [
        f"{mine[0].scenario}: with {mine[0].insertions} insertions, the mean score goes from "
        f"{least:.2f} with {shares[0]:.0%} of the pool as extra text to {most:.2f} with "
        f"{shares[-1]:.0%}."
    ]


def _of_trainings(rows: Sequence[UpdateRow]) -> list[str]:
    mine = _most_often(plainest(rows, free="training"))
    scores = {
        name: mean_score([row for row in mine if row.training == name])
        for name in dict.fromkeys(row.training for row in mine)
    }
    told = [f"{name} {score:.2f}" for name, score in scores.items() if score is not None]
    if len(told) < 2:
        return []
    return [
        f"{mine[0].scenario}: with {mine[0].insertions} insertions, mean scores by training are "
        f"{', '.join(told)}."
    ]


def _of_deletion(row: UpdateFoundRow) -> list[str]:
    if row.top_one_user is None:
        return []
    return [
        f"delete ({row.training}, extra {row.extra:g}): {row.one_user_found:.1f} of "
        f"{row.found:.0f} found sequences belong to one deleted user alone, and so do "
        f"{row.top_one_user:.0%} of the ten best."
    ]
