"""The training documents of a corpus: in memory if they are few, else in files without names."""

from pathlib import Path

import numpy as np

from leakscope.corpus.split import TRAIN
from leakscope.corpus.store import Corpus
from leakscope.engine.spilled_array import SpilledArray
from leakscope.models.word.word_model import WordModel
from leakscope.records.documents import Documents, IntArray, LongArray
from leakscope.records.ragged import offsets_of

HELD_WORDS = 1 << 24
"""Words of a text that stays in memory."""
_BLOCK = 1 << 20  # words at a time


def training_documents(corpus: Corpus, without: IntArray | None, scratch: Path | None) -> Documents:
    """The training documents of all users but `without`. The words of many documents are in a file
    in the folder `scratch`, if there is one, in pages that the system can take from memory.
    """
    spilled = _file_for(corpus.counts(TRAIN).words, scratch)
    if spilled is None:
        return _left(corpus.load(TRAIN), without)
    users, numbers, lengths = [], [], []
    for chunk in corpus.documents(TRAIN):
        kept = _left(chunk, without)
        users.append(kept.users)
        numbers.append(kept.numbers)
        lengths.append(kept.lengths())
        spilled.append(kept.ids)
        del chunk, kept
    return Documents(
        np.concatenate(users),
        np.concatenate(numbers),
        offsets_of(np.concatenate(lengths)),
        spilled.mapped(),
    )


def entries_of(
    model: WordModel, documents: Documents, scratch: Path | None
) -> IntArray | LongArray:
    """[w] the model's entry of every word, kept as the words are."""
    spilled = _file_for(len(documents.ids), scratch)
    if spilled is None:
        return model.entries(documents)
    for start in range(0, len(documents.ids), _BLOCK):
        spilled.append(model.entries_of(documents.ids[start : start + _BLOCK]))
    return spilled.mapped()


def marked_text(
    entries: IntArray | LongArray, offsets: LongArray, mark: int, scratch: Path | None
) -> IntArray:
    """[w + 2n] each of n documents between two marks, kept as the words are."""
    spilled = _file_for(len(entries), scratch)
    if spilled is None:
        return _marked(entries, offsets, mark)
    one, start = np.array([mark], np.int32), 0
    while start < len(offsets) - 1:
        stop = int(np.searchsorted(offsets, offsets[start] + _BLOCK, side="right")) - 1
        if stop > start:
            low, high = offsets[start], offsets[stop]
            spilled.append(_marked(entries[low:high], offsets[start : stop + 1] - low, mark))
        else:  # a document that is too long to be laid out at once
            stop = start + 1
            spilled.append(one)
            for low in range(offsets[start], offsets[stop], _BLOCK):
                spilled.append(entries[low : min(low + _BLOCK, offsets[stop])])
            spilled.append(one)
        start = stop
    return spilled.mapped()


def _file_for(words: int, scratch: Path | None) -> SpilledArray | None:
    """Where a text of so many words is kept; None: in memory."""
    return None if scratch is None or words <= HELD_WORDS else SpilledArray(scratch, np.int32)


def _marked(entries: IntArray | LongArray, offsets: LongArray, mark: int) -> IntArray:
    documents = len(offsets) - 1
    where = np.arange(len(entries)) + np.repeat(2 * np.arange(documents) + 1, np.diff(offsets))
    text = np.full(len(entries) + 2 * documents, mark, np.int32)
    text[where] = entries
    return text


def _left(documents: Documents, without: IntArray | None) -> Documents:
    if without is None:
        return documents
    kept = np.flatnonzero(~np.isin(documents.users, without))
    return documents if len(kept) == len(documents) else documents.take(kept)
