"""The directory of a run: taken for a new run, described by its manifest, known again."""

import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from leakscope.corpus.store import Corpus
from leakscope.leakage.subject import Subject
from leakscope.records.artifacts import fresh_directory, private_directory, sweep
from leakscope.records.models.public_model import PublicModelRecord
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_manifest import RunManifest, open_run

PACKAGES = ("leakscope", "torch", "numpy", "numba", "pyarrow")


def claim(out: Path) -> Path:
    """Take `out` for a run: fresh, or one that was killed on its way. Gives the folder for what
    is needed only until the run is finished.
    """
    work = out / ".work"
    if work.is_dir():
        sweep(out)  # nothing of a revealed run must outlive it in a redacted one
        for entry in out.iterdir():
            if entry.is_file():
                entry.unlink()
    else:
        fresh_directory(out)
    return private_directory(work)


def manifest_of(
    subject: Subject, corpus: Corpus, settings: ReportSettings, public: PublicModelRecord | None
) -> RunManifest:
    """All of `manifest.json`."""
    return RunManifest(
        name=subject.name,
        versions={name: version(name) for name in (*PACKAGES, *subject.packages)}
        | {"python": platform.python_version()},
        settings=settings,
        revealed=settings.reveal,
        corpus_digest=corpus.manifest.digest,
        lexicon_digest=corpus.manifest.lexicon_digest,
        model_digest=subject.digest,
        model=subject.config,
        options=subject.options,
        public=public,
    )


def is_same_run(
    out: Path,
    subject: Subject,
    corpus: Corpus,
    settings: ReportSettings,
    same_public_model: Callable[[PublicModelRecord | None], bool] = lambda record: record is None,
) -> bool:
    """Whether `out` is the finished run of just this model, corpus and settings, and of a public
    model whose record is the right one.
    """
    if not (out / "manifest.json").exists() or (out / ".work").is_dir():
        return False
    known = open_run(out)[0]
    wanted = manifest_of(subject, corpus, settings, None)
    # Options say how it was run as well: on how many threads, or into which directory.
    same = known.model_copy(update={"public": None, "options": wanted.options}) == wanted
    return same and same_public_model(known.public)
