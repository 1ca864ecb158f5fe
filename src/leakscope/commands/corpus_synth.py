"""`corpus synth`."""

import os
from pathlib import Path
from typing import Any

from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.corpus.synthetic.synth_files import SynthSummary
from leakscope.corpus.synthetic.synth_files import synth as write_synthetic
from leakscope.corpus.synthetic.synth_settings import SynthSettings
from leakscope.engine.progress import Progress, silent


@takes_options_of("corpus synth")
def synth(
    out: str | os.PathLike[str], *settings: object, progress: Progress = silent, **options: Any
) -> SynthSummary:
    """Write a synthetic corpus with known secrets: `data.parquet` and `truth.parquet`."""
    asked = Given("corpus synth", settings, options).make(SynthSettings)
    return write_synthetic(Path(out), asked, lambda words: progress("words", words, asked.words))
