"""`corpus info`."""

import os
from pathlib import Path

from leakscope.commands.remote_paths import reads_remote
from leakscope.corpus.manifest import CorpusManifest
from leakscope.corpus.store import Corpus


@reads_remote
def info(corpus: str | os.PathLike[str]) -> CorpusManifest:
    """What a corpus holds and what was set aside; its `warnings` say what to look into."""
    return Corpus.open(Path(corpus)).manifest
