"""`corpus build`."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build as build_corpus
from leakscope.corpus.manifest import CorpusManifest
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.records.errors import LeakscopeError


@takes_options_of("corpus build", again=lambda out: Corpus.open(out).manifest)
def build(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> CorpusManifest:
    """Build a corpus directory from user-keyed text, in one file or folder or in several."""
    paths, how, asked, resources = prepared_build(inputs, Given("corpus build", settings, options))
    corpus = build_corpus(
        paths,
        Path(out),
        input_settings=how,
        settings=asked,
        resources=resources,
        progress=progress,
    )
    return corpus.manifest


class PreparedBuild(NamedTuple):
    """A build that is all set."""

    paths: list[Path]
    how: InputSettings
    settings: BuildSettings
    resources: BuildResources


def prepared_build(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], given: Given
) -> PreparedBuild:
    """What was given, checked."""
    how = given.make(InputSettings)
    drawn = [name for name in ("validation", "split_by", "seed") if name in given.options]
    if how.split_column is not None and drawn:
        raise LeakscopeError(
            "With --split-column no document is drawn for validation; leave out "
            f"--{drawn[0].replace('_', '-')}."
        )
    paths = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    return PreparedBuild(
        [Path(path) for path in paths],
        how,
        given.make(BuildSettings),
        given.make(BuildResources),
    )
