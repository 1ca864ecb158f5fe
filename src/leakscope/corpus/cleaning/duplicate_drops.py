"""The step that drops duplicate documents, made ready."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.cleaning.duplicates import KEPT, exact_duplicates, lowered, near_duplicates
from leakscope.corpus.cleaning.kept_findings import KeptFindings
from leakscope.corpus.cleaning.steps import DropDocuments
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.records.documents import BoolArray, Documents, LongArray
from leakscope.records.ragged import offsets_of


def found_duplicates(
    corpus: Corpus,
    settings: CleanSettings,
    progress: Progress,
    gone: BoolArray | None,
    kept: KeptFindings,
) -> DropDocuments:
    """The duplicates among the documents that are not `gone` already."""
    found = kept.columns("duplicates", lambda: _duplicates(corpus, settings, progress, gone))
    exact: dict[int, bool] = {}
    near: dict[int, bool] = {}
    for number, across, is_near in zip(*found.values(), strict=True):
        (near if is_near else exact)[number] = across
    return DropDocuments(exact, None if settings.documents == "exact" else near)


def _duplicates(
    corpus: Corpus, settings: CleanSettings, progress: Progress, gone: BoolArray | None
) -> pa.RecordBatch:
    """Each by its number, with whether another user wrote the original, and whether it is not an
    exact one.
    """
    progress("compare documents", 0)
    training = lowered(corpus.load(), corpus.lexicon)
    if gone is not None:
        training = _chosen(training, np.flatnonzero(~gone[training.numbers]))
    exact = exact_duplicates(training, across_users=settings.across_users)
    found = [*_by_number(training, exact, is_near=False)]
    if settings.documents == "near":
        rest = _chosen(training, np.flatnonzero(exact == KEPT))
        near = near_duplicates(
            rest,
            across_users=settings.across_users,
            threshold=settings.threshold,
            shingle=settings.shingle,
            seed=settings.seed,
            progress=lambda done, total: progress("compare documents", done, total),
        )
        found += _by_number(rest, near, is_near=True)
    schema = pa.schema([("number", pa.int64()), ("across", pa.bool_()), ("near", pa.bool_())])
    columns = zip(*found, strict=True) if found else ([], [], [])
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )


def _by_number(
    documents: Documents, original: LongArray, *, is_near: bool
) -> Iterator[tuple[int, bool, bool]]:
    """For each document that has an original: its number, whether another user wrote the original,
    and what it is.
    """
    found = np.flatnonzero(original != KEPT)
    others = documents.users[found] != documents.users[original[found]]
    for number, across in zip(documents.numbers[found].tolist(), others.tolist(), strict=True):
        yield number, across, is_near


def _chosen(documents: Documents, chosen: LongArray) -> Documents:
    """Some of the documents, in their order."""
    lengths = documents.lengths()
    mask = np.zeros(len(documents), np.bool_)
    mask[chosen] = True
    return Documents(
        documents.users[chosen],
        documents.numbers[chosen],
        offsets_of(lengths[chosen]),
        documents.ids[np.repeat(mask, lengths)],
    )
