"""From parts that were read to all files of a corpus, and what its manifest says of them."""

import platform
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.lexicon_merge import MergedLexicon, merge_lexicons
from leakscope.corpus.building.number_stage import NumberStage, both_intact
from leakscope.corpus.building.shard_plan import CorpusSizes, ShardPlan, plan_shards
from leakscope.corpus.building.shard_stage import ShardStage, corpus_digest
from leakscope.corpus.building.user_pieces import UserPiece, user_pieces
from leakscope.corpus.manifest import SCHEMA_VERSION, CorpusManifest, SplitCounts
from leakscope.corpus.parts.reading import BuildContext, ReadParts, code_identity
from leakscope.corpus.parts.row_columns import SPLITS, ReadTally
from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.engine.stages import output_paths
from leakscope.records.artifacts import digest_of, is_intact, private_directory
from leakscope.records.output_claim import remove
from leakscope.records.seal import OWN

PARQUET = ".parquet"


@dataclass(frozen=True)
class Assembled:
    """What the manifest says of the files."""

    digest: str
    lexicon: MergedLexicon
    shards: list[str]


@dataclass(frozen=True)
class Numbered:
    """Documents in user order and in words, by pieces of users."""

    parts: list[Path]
    pieces: list[UserPiece]
    plan: ShardPlan

    @property
    def sizes(self) -> CorpusSizes:
        """How much there is."""
        return self.plan.sizes


def number(read: ReadParts, context: BuildContext) -> Numbered:
    """Bring the documents of each user together, and split them into words."""
    stage, keys = numbering(read, context.settings, context.resources)
    parts = context.engine.map(
        stage, keys, context.folder, keep=both_intact, progress=context.progress
    )
    return numbered_by(stage, parts)


def numbering(
    read: ReadParts, how: BuildSettings, resources: BuildResources
) -> tuple[NumberStage, list[str]]:
    """The stage, and what decides each of its parts, by digest."""
    pieces = user_pieces(read.paths, resources.piece_bytes)
    known = digest_of(
        [
            *code_identity(),
            [path.name for path in read.paths],
            read.first_rows,
            [how.lowercase, how.validation, how.split_by, how.seed],
        ]
    )
    stage = NumberStage(tuple(read.paths), tuple(read.first_rows), tuple(pieces), how)
    return stage, [digest_of([known, asdict(piece)]) for piece in pieces]


def numbered_by(stage: NumberStage, parts: list[Path]) -> Numbered:
    """What the stage has made, all of it."""
    pieces = list(stage.pieces)
    return Numbered(parts, pieces, plan_shards(parts, pieces, stage.settings.shard_words))


def assemble(numbered: Numbered, context: BuildContext, lexicon: Path, shards: Path) -> Assembled:
    """Write the lexicon and the shards."""
    # The digest goes through all text in its order, so it has a thread of its own.
    with ThreadPoolExecutor(1) as aside:
        digest = aside.submit(corpus_digest, numbered.parts)
        merged = merge_lexicons(
            numbered.parts,
            numbered.pieces,
            context.settings.order,
            lexicon,
            context.resources.bytes,
        )
        names = _shards(numbered, merged, context, shards)
        return Assembled(digest.result(), merged, names)


def _shards(
    numbered: Numbered, lexicon: MergedLexicon, context: BuildContext, folder: Path
) -> list[str]:
    """Write the shards into their folder; their names."""
    stage, keys = sharding(numbered, lexicon)
    names = [f"{index:05d}{PARQUET}" for index in range(len(keys))]
    waiting = output_paths(stage, keys, context.folder)
    for name, part in zip(names, waiting, strict=True):
        # A build that was killed while it put shards into their places.
        if (folder / name).is_file() and not part.exists() and _sealed(part):
            (folder / name).replace(part)
    remove(folder)
    made = context.engine.map(
        stage, keys, context.folder, keep=is_intact, progress=context.progress
    )
    private_directory(folder)
    for name, part in zip(names, made, strict=True):
        part.replace(folder / name)
    return names


def sharding(numbered: Numbered, lexicon: MergedLexicon) -> tuple[ShardStage, list[str]]:
    """The stage, and what decides each shard, by digest."""
    plan = numbered.plan
    known = digest_of([[path.name for path in numbered.parts], lexicon.digest])
    keys = [
        digest_of(
            [
                known,
                [[asdict(part) for part in group] for group in shard],
                plan.first_user[shard[0][0].part],
                plan.first_document[shard[0][0].part],
            ]
        )
        for shard in plan.shards
    ]
    return ShardStage(tuple(numbered.parts), plan, lexicon.final), keys


def manifest_of(
    settings: BuildSettings, tally: ReadTally, sizes: CorpusSizes, made: Assembled
) -> CorpusManifest:
    """What is known of a corpus when its files are written; the caller says where it comes from."""
    counts = {
        name: SplitCounts(
            users=sizes.split_users[place],
            documents=sizes.split_documents[place],
            words=sizes.split_words[place],
        )
        for place, name in enumerate(SPLITS)
    }
    return CorpusManifest(
        schema_version=SCHEMA_VERSION,
        versions={
            "charset-normalizer": version("charset-normalizer"),
            "leakscope": version("leakscope"),
            "pyarrow": version("pyarrow"),
            "python": platform.python_version(),
        },
        settings=settings,
        inputs=[],
        digest=made.digest,
        lexicon_digest=made.lexicon.digest,
        lexicon=made.lexicon.size,
        shards=made.shards,
        train=counts[TRAIN],
        validation=counts[VALIDATION],
        users=sizes.users,
        documents_per_user=sizes.quantiles(),
        set_aside=dict(sorted(tally.aside.items())),
        doubtful=dict(sorted(tally.doubts.items())) if tally.known else None,
        most_words=sizes.most_words,
    )


def _sealed(part: Path) -> bool:
    return part.with_name(part.name + OWN).exists()
