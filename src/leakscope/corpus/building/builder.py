"""`corpus build`: from rows to a corpus directory, by way of parts on disk.

The rows are read into parts that are sorted by user; pieces of users are brought together from all
parts, split into words and counted; their lexicons become one; and the shards are written with it.
Parts of the same input and settings are found again, so a killed build goes on.
"""

import shutil
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.assembly import assemble, manifest_of, number
from leakscope.corpus.building.input_files import describe
from leakscope.corpus.building.shard_plan import CorpusSizes
from leakscope.corpus.manifest import CorpusManifest, InputFile, OriginFile
from leakscope.corpus.parts.reading import (
    BuildContext,
    ReadParts,
    StreamIdentity,
    read_inputs,
    read_rows,
)
from leakscope.corpus.parts.row_columns import SPLITS, ReadTally
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.split import TRAIN
from leakscope.corpus.store import Corpus
from leakscope.engine.cluster.ray_engine import RayEngine
from leakscope.engine.progress import Progress, silent
from leakscope.engine.stages import Engine
from leakscope.engine.thread_engine import ThreadEngine
from leakscope.engine.time_left import PlannedStage, expect
from leakscope.records.artifacts import already, private_directory, read_json, write_sealed
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import Claim, claimed, remove, taken_up
from leakscope.records.seal import SEAL

COMMAND = "corpus build"
BUILDING, SHARDS, LEXICON, MANIFEST = ".building", "shards", "lexicon.parquet", "manifest.json"
CORPUS_FILES = (MANIFEST, BUILDING, SHARDS, LEXICON, SEAL)

STAGES = (PlannedStage("read", 3), PlannedStage("number words", 4), PlannedStage("write shards", 3))
"""What they cost, as measured on synthetic text."""


def build(
    inputs: str | Path | Iterable[str | Path],
    out: str | Path,
    *,
    input_settings: InputSettings | None = None,
    settings: BuildSettings | None = None,
    resources: BuildResources | None = None,
    progress: Progress = silent,
) -> Corpus:
    """Build a corpus from files, mail folders or repositories; see `readers.detect`.

    A build that was killed or interrupted goes on from the parts that it has finished; one whose
    input cannot be used leaves nothing.
    """
    paths = [Path(path) for path in ([inputs] if isinstance(inputs, str | Path) else inputs)]
    how, settings = input_settings or InputSettings(), settings or BuildSettings()
    described = [describe(path, how.format) for path in paths]
    said = {
        "settings": settings,
        "inputs": described,
        "origins": [OriginFile.of(each) for each in described],
        "split_given": how.split_column is not None,
    }
    with claimed(Path(out), COMMAND) as claim:
        if (claim.path / MANIFEST).exists():
            return _finished(claim, said)
        claim.clear({LEXICON, SEAL}, keep={BUILDING, SHARDS})
        claim.sweep(folder for folder in [claim.path / BUILDING] if folder.is_dir())
        resources = resources or BuildResources()
        expect(progress, STAGES)
        with _engine(resources, paths) as engine:
            context = _context(claim, settings, resources, engine, progress)
            try:
                made = _build(claim, read_inputs(paths, described, how, context), context, said)
                shutil.rmtree(context.folder)
                return made
            except LeakscopeError:
                _leave_nothing(claim)
                raise


def build_rows(
    rows: Iterable[Row],
    out: str | Path,
    *,
    inputs: list[InputFile] | None = None,
    origins: list[OriginFile] | None = None,
    settings: BuildSettings | None = None,
    split_given: bool = False,
    identity: StreamIdentity | None = None,
    progress: Progress = silent,
) -> Corpus:
    """Build a corpus from any stream of rows. `split_given`: they say which part they belong to, as
    whoever trained on them knows it. `origins`: the files that the origins of rows name. With an
    `identity`, a killed or interrupted build goes on.
    """
    with claimed(Path(out), COMMAND) as claim:
        made = build_into(
            claim,
            rows,
            inputs=inputs,
            origins=origins,
            settings=settings,
            split_given=split_given,
            identity=identity,
            progress=progress,
        )
        remove(claim.path / BUILDING)
        return made


def build_into(
    claim: Claim,
    rows: Iterable[Row],
    *,
    inputs: list[InputFile] | None = None,
    origins: list[OriginFile] | None = None,
    settings: BuildSettings | None = None,
    split_given: bool = False,
    identity: StreamIdentity | None = None,
    progress: Progress = silent,
) -> Corpus:
    """`build_rows` in a directory that the caller has claimed; the parts in `BUILDING` are left for
    the caller to remove. Without an `identity`, what an interrupted build left there is removed
    first, and a build that fails leaves nothing.
    """
    if identity is None:
        claim.clear(set(CORPUS_FILES) - {MANIFEST})
    else:
        claim.clear({LEXICON, SEAL}, keep={BUILDING, SHARDS})
        claim.sweep(folder for folder in [claim.path / BUILDING] if folder.is_dir())
    resources = BuildResources()
    engine = ThreadEngine(resources.threads)
    context = _context(claim, settings or BuildSettings(), resources, engine, progress)
    said = {"inputs": inputs or [], "origins": origins or [], "split_given": split_given}
    try:
        return _build(claim, read_rows(rows, context, identity), context, said)
    except BaseException as error:
        if identity is None or isinstance(error, LeakscopeError):
            _leave_nothing(claim)
        elif not any(context.folder.iterdir()):
            remove(context.folder)
        raise


def _context(
    claim: Claim,
    settings: BuildSettings,
    resources: BuildResources,
    engine: Engine,
    progress: Progress,
) -> BuildContext:
    folder = private_directory(claim.path / BUILDING)
    return BuildContext(folder, settings, resources, engine, progress)


def _engine(resources: BuildResources, inputs: Sequence[Path]) -> AbstractContextManager[Engine]:
    """What runs the stages of a build from these inputs."""
    if resources.engine == "local":
        return nullcontext(ThreadEngine(resources.threads))
    return RayEngine(resources.address, workers=resources.threads, needs=inputs)


def _leave_nothing(claim: Claim) -> None:
    for name in CORPUS_FILES:  # they hold text
        remove(claim.path / name)


def tidied_build(out: Path) -> bool:
    """Whether `out` holds a whole corpus. What a build leaves behind that is killed after its last
    file is removed now.
    """
    whole = (out / MANIFEST).exists()
    if whole:
        with taken_up(out, COMMAND) as killed:
            if killed:
                remove(out / BUILDING)
    return whole


def _finished(claim: Claim, said: dict[str, object]) -> Corpus:
    """The corpus of a build that was killed after its last file; raise if it is another one."""
    manifest = read_json(claim.path / MANIFEST, CorpusManifest, "a corpus")
    if any(getattr(manifest, name) != value for name, value in said.items()):
        raise already(claim.path)
    remove(claim.path / BUILDING)
    return Corpus.open(claim.path)


def _build(claim: Claim, read: ReadParts, context: BuildContext, said: dict[str, object]) -> Corpus:
    """Make the corpus of what was read; the manifest also says what is `said`."""
    out = claim.path
    numbered = number(read, context)
    if not numbered.sizes.split_documents[SPLITS.index(TRAIN)]:
        raise _nothing_left(numbered.sizes, read.tally)
    made = assemble(numbered, context, out / LEXICON, out / SHARDS)
    manifest = manifest_of(context.settings, read.tally, numbered.sizes, made)
    shards = [f"{SHARDS}/{name}" for name in made.shards]
    # Last but for the parts, which hold what is missing as long as something is.
    write_sealed(out / MANIFEST, manifest.model_copy(update=said), [LEXICON, *shards])
    return Corpus.open(out)


def _nothing_left(sizes: CorpusSizes, tally: ReadTally) -> LeakscopeError:
    reasons = ", ".join(f"{count} with {reason}" for reason, count in tally.aside.items())
    if sizes.documents:
        why = (
            f"all {sizes.documents} were held out for validation; give a smaller --validation, or "
            f"another --split-column"
        )
    else:
        why = f"{reasons} set aside" if reasons else "the input is empty"
    return LeakscopeError(f"No document is left to train on: {why}.")
