"""The directory of a run: taken for a new run, described by its manifest, known again."""

import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from leakscope.corpus.store import Corpus
from leakscope.leakage.subject import Subject
from leakscope.records.artifacts import already, private_directory
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.public_model import PublicModelRecord
from leakscope.records.output_claim import claimed
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_manifest import RunManifest, open_run
from leakscope.records.seal import SEAL

PACKAGES = ("leakscope", "torch", "numpy", "numba", "pyarrow")
WORK = ".work"
PAGE = "report.html"
RUN_FILES = (
    "manifest.json",
    "metrics.json",
    "occurrences.parquet",
    PAGE,
    SEAL,
    "sequences.parquet",
    "users.parquet",
    "validation.parquet",
    "validation_documents.parquet",
)


@dataclass(frozen=True)
class RunDirectory:
    """A directory that is being written by one report and by nobody else."""

    path: Path
    work: Path
    """For what is needed only until the run is finished."""


@contextmanager
def claimed_run(out: Path) -> Iterator[RunDirectory]:
    """Take `out` for a run: fresh, or one that was killed on its way."""
    work = out / WORK
    with claimed(out, "report") as claim:
        if (out / "manifest.json").exists() and not work.is_dir():
            raise already(out)  # killed when all was done
        # Nothing of a revealed run must outlive it in a redacted one. Folders stay: public models
        # and answers may be kept in here.
        claim.clear(RUN_FILES, keep=[entry.name for entry in out.iterdir() if entry.is_dir()])
        private_directory(work)
        try:
            yield RunDirectory(out, work)
        except BaseException:
            with suppress(OSError):
                work.rmdir()  # if it is empty, there is nothing to take up
            raise
        shutil.rmtree(work)  # last: as long as it is there, the run can be taken up again


def manifest_of(
    subject: Subject, corpus: Corpus, settings: ReportSettings, public: PublicModelRecord | None
) -> RunManifest:
    """All of `manifest.json`."""
    return RunManifest(
        name=subject.name,
        versions={name: version(name) for name in (*PACKAGES, *subject.identity.packages)}
        | {"python": platform.python_version()},
        settings=settings,
        revealed=settings.reveal,
        corpus_digest=corpus.manifest.digest,
        lexicon_digest=corpus.manifest.lexicon_digest,
        model_digest=subject.digest,
        model=subject.config,
        options=subject.options,
        public=public,
        stand_ins=None if subject.stand_ins is None else subject.stand_ins.record,
        interface=settings.interface,
        sealed=True,
    )


def corpus_of_run(run: Path, manifest: RunManifest, corpus: Corpus) -> Corpus:
    """The corpus with the D of a finished run; raise if the run was made on another corpus."""
    known = (corpus.manifest.digest, corpus.manifest.lexicon_digest)
    if (manifest.corpus_digest, manifest.lexicon_digest) != known:
        raise LeakscopeError(
            f"{run} is a run on another corpus than {corpus.path}; give the one that the report "
            f"was made on."
        )
    return corpus.trained_on(manifest.trained_on)


def is_same_run(
    out: Path,
    subject: Subject,
    corpus: Corpus,
    settings: ReportSettings,
    same_others: Callable[[RunManifest], bool] = lambda known: (
        known.public is None and known.stand_ins is None
    ),
) -> bool:
    """Whether `out` is the finished run of just this model, corpus and settings; `same_others`
    says so of its public model and stand-ins.
    """
    if not (out / "manifest.json").exists() or (out / WORK).is_dir():
        return False
    known = open_run(out)[0]
    wanted = manifest_of(subject, corpus, settings, None)
    # Options say how it was run as well: on how many threads, or into which directory. Runs of
    # earlier versions have no seal.
    alike = {
        "public": None,
        "stand_ins": None,
        "options": wanted.options,
        "rendered_from": None,
        "sealed": True,
    }
    same = known.model_copy(update=alike) == wanted
    return same and same_others(known)
