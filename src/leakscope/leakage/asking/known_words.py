"""Which words a model can say at all."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from leakscope.leakage.asking.asked_model import AskedModel
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import digest_of_columns
from leakscope.records.documents import BoolArray, IntArray

STAGE = "known-words"


@dataclass(frozen=True)
class KnownWordsAsked:
    """Whether the model knows some lexicon ids; no rows: it does not tell."""

    ids: IntArray
    schema: ClassVar[pa.Schema] = pa.schema([("known", pa.bool_())])
    rows: ClassVar[None] = None

    def digest(self) -> str:
        """See `Question`."""
        return digest_of_columns(self.ids)

    def answer(self, model: LanguageModel) -> pa.RecordBatch:
        """See `Question`."""
        known = model.knows(self.ids)
        told = np.zeros(0, np.bool_) if known is None else known
        return pa.record_batch([pa.array(told)], schema=self.schema)


def known_words(model: AskedModel, ids: IntArray) -> BoolArray | None:
    """[n] whether these lexicon ids are words that the model can say; None: it does not tell."""
    distinct, places = np.unique(ids, return_inverse=True)
    (answer,) = model.ask(STAGE, [KnownWordsAsked(distinct)])
    if len(answer) != len(distinct):
        return None
    known: BoolArray = answer["known"].to_numpy()[places]
    return known
