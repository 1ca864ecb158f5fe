"""`canary plant`: draw canaries, plant them in a corpus or in rows of data, and list them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from leakscope.canaries.canary_settings import PlantSettings
from leakscope.canaries.planting.drawn_canaries import DrawnCanaries
from leakscope.canaries.planting.placement import (
    Placement,
    PlantedRow,
    Users,
    merged,
    place_among,
    place_anywhere,
    users_of,
)
from leakscope.canaries.planting.real_canaries import listed_for_manifest
from leakscope.canaries.planting.row_sinks import RowSink, row_sink
from leakscope.canaries.planting.row_sources import RowSource
from leakscope.canaries.planting.unfinished_planting import (
    BEFORE,
    begin,
    corpus_of,
    end,
    is_left_by,
)
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.manifest import InputFile, OriginFile
from leakscope.corpus.parts.reading import StreamIdentity, code_identity
from leakscope.corpus.readers.rows import Origin, Row
from leakscope.corpus.split import TRAIN
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.models.interface import LanguageModel
from leakscope.records.artifacts import already, digest_of, digest_of_file, write_sealed
from leakscope.records.canaries.canary_manifest import (
    MANIFEST,
    Canary,
    CanaryInput,
    CanaryManifest,
)
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import claimed, remove
from leakscope.records.seal import SEAL

CORPUS = "corpus"
ROWS = ("planted.jsonl", "planted.parquet")


@dataclass(frozen=True)
class PlantJob:
    """What is planted in what."""

    source: RowSource
    origin: InputFile
    settings: PlantSettings
    build: BuildSettings
    """Of the planted corpus."""
    plain_model: Callable[[Corpus], LanguageModel] | None = None
    """Brings the model that chooses real canaries."""
    before: Corpus | None = None
    """The corpus that the source is; None: the source is data, and its corpus is made first."""
    progress: Progress = silent


def plant(job: PlantJob, out: Path) -> CanaryManifest:
    """Write `corpus`, the planted rows and `canaries.json` into the new directory `out`. One that
    was killed or interrupted goes on; one whose input cannot be used leaves nothing.
    """
    text = (CORPUS, BEFORE, *ROWS, SEAL)
    with claimed(out, "canary plant") as claim:
        digest = _decided_by(job)
        known = is_left_by(out, digest)
        if (out / MANIFEST).exists():
            if not known:
                raise already(out)
            claim.clear(keep={*text, MANIFEST})
            end(out)  # it was killed while it tidied up
            return CanaryManifest.load(out)
        claim.clear(*(((SEAL, *ROWS), {CORPUS, BEFORE}) if known else (text, ())))
        if known:
            claim.sweep([out / BEFORE])
        else:
            begin(out, digest)
        try:
            return _plant_into(out, job, digest)
        except LeakscopeError:
            for name in text:
                remove(out / name)
            raise


def _decided_by(job: PlantJob) -> str:
    """A digest of all that decides what is planted where, and in what."""
    libraries = [version(name) for name in ("numpy", "pyarrow", "charset-normalizer")]
    told = [_plain(job.settings), asdict(job.build), job.origin.model_dump()]
    return digest_of([*code_identity(), libraries, told, job.source.decided_by()])


def _plant_into(out: Path, job: PlantJob, digest: str) -> CanaryManifest:
    settings, rows = job.settings, f"planted.{job.source.format}"
    named = OriginFile.of(job.origin)
    before = job.before or _corpus(
        job,
        (row.row for row in job.source.rows()),
        out / BEFORE / CORPUS,
        [named],
        StreamIdentity(digest_of([digest, BEFORE]), unread=True),
    )
    rng = np.random.default_rng(settings.seed)
    users = users_of(before)
    drawn = DrawnCanaries(settings, before, users, rng)
    texts = drawn.texts()
    placement = Placement()
    if settings.coins == "user":
        total = sum(1 for _ in job.source.rows())
        placement.anywhere = place_anywhere(texts, total, rng)
    else:
        placement.among = place_among(texts, users, rng)
    positions: dict[int, list[int]] = {}
    known = [named] if job.before is None else before.manifest.origins
    with row_sink(out / rows, job.source.schema()) as sink:
        stream = _written(job.source, placement, users, sink, positions, len(known))
        # Read in any case: the planted rows and their numbers come up on the way.
        identity = StreamIdentity(digest_of([digest, CORPUS]))
        origins = [*known, OriginFile(name=rows)]
        planted = _corpus(job, stream, out / CORPUS, origins, identity)
    canaries = [
        each.model_copy(update={"rows": positions.get(each.id, [])}) for each in drawn.canaries
    ]
    real, without = _real(job, planted, {text.text for text in texts}, len(canaries))
    manifest = CanaryManifest(
        versions={"leakscope": version("leakscope"), "numpy": version("numpy")},
        settings=_plain(settings),
        input=CanaryInput(**job.origin.model_dump()),
        rows=rows,
        rows_digest=digest_of_file(out / rows),
        corpus_digest=planted.manifest.digest,
        lowercase=job.build.lowercase,
        coins=settings.coins,
        vocabularies=drawn.vocabularies,
        spaces=drawn.spaces,
        canaries=canaries + real,
        users=planted.manifest.users,
        without_real=without,
    )
    write_sealed(out / MANIFEST, manifest, [rows])  # now it is complete
    end(out)
    return manifest


def _corpus(
    job: PlantJob,
    rows: Iterable[Row],
    folder: Path,
    origins: list[OriginFile],
    identity: StreamIdentity,
) -> Corpus:
    """A corpus of these rows, built with what is left of it."""

    def build(rows: Iterable[Row]) -> Corpus:
        return build_rows(
            rows,
            folder,
            inputs=[job.origin],
            origins=origins,
            settings=job.build,
            split_given=job.source.split_given,
            identity=identity,
            progress=job.progress,
        )

    return corpus_of(rows, folder, build, unread=identity.unread)


def _plain(settings: PlantSettings) -> dict[str, object]:
    return asdict(settings) | {
        "real": None if settings.real is None else settings.real.name,
        "frequency": list(settings.frequency),
        "schedule": ",".join(map(str, settings.repetitions())),
    }


def _written(
    source: RowSource,
    placement: Placement,
    users: Users,
    sink: RowSink,
    positions: dict[int, list[int]],
    input: int,
) -> Iterator[Row]:
    """The rows of the planted corpus, each written into the sink as it passes; `positions` gets the
    numbers of the planted ones, whose origin is the sink's file, of number `input`.
    """
    number = 0
    for each in merged(source, placement, users):
        if isinstance(each, PlantedRow):
            text = each.text
            sink.new(source.planted(text.text, text.user, each.beside))
            positions.setdefault(text.canary, []).append(number)
            number += 1
            yield Row(text.user, text.text, split=TRAIN, origin=Origin(input, number))
        else:
            if each.raw is not None:
                sink.old(each.raw)
                number += 1
            yield each.row


def _real(job: PlantJob, planted: Corpus, texts: set[str], first: int) -> tuple[list[Canary], int]:
    """The real canaries, numbered from `first`, and how many users have none."""
    if job.plain_model is None:
        return [], 0
    return listed_for_manifest(job.plain_model(planted), planted, texts, first, job.progress)
