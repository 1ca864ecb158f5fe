"""Findings against labels: which are right, which are missed, with intervals.

Labels are kinds and offsets without any text; a digest says to which text they belong.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scipy import stats

from leakscope.corpus.personal_data.kinds import Finding
from leakscope.records.errors import LeakscopeError

Half = Literal["development", "test"]


@dataclass(frozen=True)
class LabelledText:
    """What a person found in one row of a file."""

    row: int
    digest: str
    """`text_digest` of the row's text."""
    sample: str
    """How it was drawn: "plain" (at random) or "enriched" (where a simple cue stands)."""
    labels: tuple[Finding, ...]
    """Sorted, and none overlaps with another."""

    @property
    def half(self) -> Half:
        """The half whose errors may be looked at, or the one that is only measured."""
        return "test" if int(self.digest[0], 16) % 2 else "development"


@dataclass(frozen=True)
class Tally:
    """Labels and findings of one kind."""

    labelled: int = 0
    found: int = 0
    exact: int = 0
    """Findings with the same ends as a label of their kind, and so many labels."""
    reached: int = 0
    """Labels that overlap with a finding of their kind."""
    right: int = 0
    """Findings that overlap with a label of their kind."""
    removed: int = 0
    """Labels of which no letter or digit is left when all findings, of any kind, are taken out."""

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def __iter__(self):
        return iter((self.labelled, self.found, self.exact, self.reached, self.right, self.removed))


def text_digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def read_labels(path: Path) -> list[LabelledText]:
    return [
        LabelledText(
            each["row"],
            each["digest"],
            each["sample"],
            tuple(Finding(start, end, kind) for kind, start, end in each["labels"]),
        )
        for each in json.loads(path.read_text())["texts"]
    ]


def texts_of(labelled: Iterable[LabelledText], rows: Sequence[str]) -> list[str]:
    """The text that each belongs to; raises unless every one is the text that was labelled."""
    texts = []
    for each in labelled:
        if each.row >= len(rows) or text_digest(rows[each.row]) != each.digest:
            raise LeakscopeError(
                f"Row {each.row} is not the text that was labelled; use the file that the labels "
                "were made for."
            )
        texts.append(rows[each.row])
    return texts


def tally(text: str, labels: Sequence[Finding], findings: Sequence[Finding]) -> dict[str, Tally]:
    """By kind; labels are apart from each other, and so are findings."""
    kinds = sorted({each.kind for each in (*labels, *findings)})
    return {kind: _tally(kind, text, labels, findings) for kind in kinds}


def _tally(kind: str, text: str, labels: Sequence[Finding], findings: Sequence[Finding]) -> Tally:
    mine = [label for label in labels if label.kind == kind]
    found = [finding for finding in findings if finding.kind == kind]
    return Tally(
        labelled=len(mine),
        found=len(found),
        exact=len(set(mine) & set(found)),
        reached=sum(reaches(label, found) for label in mine),
        right=sum(reaches(finding, mine) for finding in found),
        removed=sum(_removed(text, label, findings) for label in mine),
    )


def reaches(one: Finding, others: Iterable[Finding]) -> bool:
    """Whether one of the others shares a character with it."""
    return any(each.start < one.end and one.start < each.end for each in others)


def _removed(text: str, label: Finding, findings: Iterable[Finding]) -> bool:
    taken = {place for each in findings for place in range(each.start, each.end)}
    return not any(
        text[place].isalnum() and place not in taken for place in range(label.start, label.end)
    )


def summed(tallies: Iterable[dict[str, Tally]]) -> dict[str, Tally]:
    total: dict[str, Tally] = {}
    for each in tallies:
        for kind, counts in each.items():
            total[kind] = total.get(kind, Tally()) + counts
    return dict(sorted(total.items()))


def share(part: int, whole: int) -> str:
    """A share with its 95% Clopper-Pearson interval; a dash where there is nothing."""
    if not whole:
        return "–"
    ends = stats.binomtest(part, whole).proportion_ci(0.95, method="exact")
    return f"{part / whole:.2f} ({ends.low:.2f} to {ends.high:.2f})"
