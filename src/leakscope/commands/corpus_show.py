"""`corpus show`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from leakscope.commands.command_settings import ShowSettings
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.corpus.cleaning.listed_drops import listed_documents, read_lists
from leakscope.corpus.document_lookup import FoundDocument, find_documents
from leakscope.corpus.store import Corpus


@takes_options_of("corpus show")
def show(
    corpus: str | os.PathLike[str], *settings: object, **options: Any
) -> Iterator[FoundDocument]:
    """Documents of a corpus, by their numbers or by a list that drops them: where each comes from,
    whose it is, how long it is, and what it says if that is to be revealed.
    """
    asked = Given("corpus show", settings, options).make(ShowSettings)
    opened = Corpus.open(Path(corpus))
    numbers = list(asked.document)
    if asked.drop:
        lists = read_lists(asked.drop, opened)
        numbers += np.flatnonzero(listed_documents(opened, lists).gone).tolist()
    return find_documents(opened, numbers, texts=asked.reveal)
