"""`corpus build`."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.builder import build as build_corpus
from leakscope.corpus.manifest import CorpusManifest
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.engine.progress import Progress, silent


@takes_options_of("corpus build")
def build(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> CorpusManifest:
    """Build a corpus directory from user-keyed text, in one file or folder or in several."""
    given = Given("corpus build", settings, options)
    paths = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    corpus = build_corpus(
        [Path(path) for path in paths],
        Path(out),
        input_settings=given.make(InputSettings),
        settings=given.make(BuildSettings),
        progress=progress,
    )
    return corpus.manifest
