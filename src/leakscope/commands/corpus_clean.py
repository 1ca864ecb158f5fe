"""`corpus clean`."""

import os
from pathlib import Path
from typing import Any

from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.cleaning.clean_summary import CleanSummary
from leakscope.corpus.cleaning.cleaner import clean as clean_corpus
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.records.artifacts import read_json


@takes_options_of(
    "corpus clean",
    again=lambda out: read_json(out / "clean.json", CleanSummary, "a cleaned corpus"),
)
def clean(
    corpus: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> CleanSummary:
    """Write a new corpus without what lists drop, duplicates, personal data or rare words, as is
    asked for.
    """
    asked = Given("corpus clean", settings, options).make(CleanSettings)
    return clean_corpus(Corpus.open(Path(corpus)), Path(out), asked, progress)
