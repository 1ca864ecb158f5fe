"""Which unique sequences look like personal data: the patterns of `corpus.personal_data`,
applied to the documents that the sequences came from.
"""

from collections import defaultdict
from itertools import pairwise

import numpy as np

from leakscope.corpus.personal_data.kinds import find_pii
from leakscope.corpus.store import Corpus
from leakscope.corpus.words import spans
from leakscope.leakage.sequences.distinct import Sequences
from leakscope.leakage.sequences.documents_by_number import documents_holding
from leakscope.leakage.sequences.members import Members
from leakscope.records.documents import LongArray


def personal_data(
    corpus: Corpus,
    members: Members,
    sequences: Sequences,
    chosen: LongArray,
    phone_region: str | None = None,
) -> dict[int, tuple[str, ...]]:
    """The kinds of personal data that the occurrences `chosen` (rising) show a word of, by the
    sequence's row.
    """
    found: dict[int, set[str]] = defaultdict(set)
    for documents, rows in documents_holding(
        corpus.documents(texts=True), members.documents[chosen]
    ):
        texts = documents.texts or ()
        at = np.searchsorted(documents.numbers, members.documents[chosen[rows]])
        starts = np.flatnonzero(np.diff(at, prepend=-1))
        for low, high in pairwise([*starts.tolist(), len(at)]):
            kinds = _kinds_of_words(texts[int(at[low])], phone_region)
            if not kinds:
                continue
            for member in chosen[rows[low:high]].tolist():
                start = int(members.starts[member])
                reach = range(start, start + int(members.lengths[member]))
                row = int(sequences.of_member[member])
                found[row].update(kind for place, kind in kinds if place in reach)
    return {row: tuple(sorted(kinds)) for row, kinds in sorted(found.items()) if kinds}


def _kinds_of_words(text: str, phone_region: str | None) -> list[tuple[int, str]]:
    """(place, kind) of every word of `text` that overlaps with a finding."""
    findings = find_pii(text, phone_region=phone_region)
    if not findings:
        return []
    edges = spans(text)
    firsts = np.array([first for first, _ in edges])
    ends = np.array([end for _, end in edges])
    return [
        (int(place), each.kind)
        for each in findings
        for place in np.flatnonzero((firsts < each.end) & (ends > each.start))
    ]
