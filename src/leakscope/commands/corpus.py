"""`corpus build`, `corpus clean`, `corpus info` and `corpus synth`."""

from collections.abc import Sequence
from pathlib import Path

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.builder import build
from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.cleaning.clean_summary import CleanSummary
from leakscope.corpus.cleaning.cleaner import clean
from leakscope.corpus.manifest import CorpusManifest
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.store import Corpus
from leakscope.corpus.synthetic.synth_files import SynthSummary, synth
from leakscope.corpus.synthetic.synth_settings import SynthSettings
from leakscope.engine.progress import Progress, silent


def corpus_build(
    inputs: Sequence[Path],
    out: Path,
    *,
    input_settings: InputSettings | None = None,
    settings: BuildSettings | None = None,
    progress: Progress = silent,
) -> CorpusManifest:
    """Build a corpus directory from user-keyed text."""
    corpus = build(inputs, out, input_settings=input_settings, settings=settings, progress=progress)
    return corpus.manifest


def corpus_clean(
    corpus: Path, out: Path, settings: CleanSettings, *, progress: Progress = silent
) -> CleanSummary:
    """Write a new corpus without duplicates, personal data or rare words, as `settings` ask."""
    return clean(Corpus.open(corpus), out, settings, progress)


def corpus_info(corpus: Path) -> CorpusManifest:
    """What a corpus holds and what was set aside."""
    return Corpus.open(corpus).manifest


def corpus_synth(
    out: Path, settings: SynthSettings | None = None, *, progress: Progress = silent
) -> SynthSummary:
    """Write a synthetic corpus with known secrets: `data.parquet` and `truth.parquet`."""
    settings = settings or SynthSettings()
    return synth(out, settings, lambda words: progress("words", words, settings.words))
