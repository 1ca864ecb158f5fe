"""Kinds of files that a killed command leaves, and that the same command takes up again."""

from collections.abc import Callable
from pathlib import Path

from trials.flips import answers
from trials.flips.kinds import SEALS, Kind
from trials.forked import command, forked
from trials.kills.commands import RAY
from trials.kills.moments import killed_once
from trials.material import Material, still

Arguments = Callable[[], tuple[object, ...]]
MANY = 4
"""Files of the last stage that are there when a command is killed."""


def unfinished_kinds(made: Material) -> list[Kind]:
    """All of them, by the command that was killed."""
    return [
        *_trainings(made),
        *_builds(made),
        *_rows(made),
        *_reports(made),
        *_measurements(made),
    ]


def _trainings(made: Material) -> list[Kind]:
    train, private = made.train, made.train_private
    plain = _left(made.root / "unfinished", train, _first_checkpoint)
    spending = _left(made.root / "unfinished-private", private, _first_checkpoint)
    again, spent = answers.of_unfinished(train), answers.of_unfinished(private)
    inner = "checkpoints/*/"
    return [
        Kind("training: checkpoint.json", plain, ("checkpoint.json",), again, 40, False),
        Kind("training: tensors", plain, (inner + "model.safetensors",), again, 40, False),
        Kind("training: optimizer", plain, (inner + "optimizer.*",), again, 40, False),
        Kind("training: seals", plain, SEALS, again, 20, False),
        Kind("private training: ledger", spending, ("privacy.jsonl",), spent, 50, False),
        Kind("private training: tensors", spending, (inner + "*",), spent, 30, False),
    ]


def _builds(made: Material) -> list[Kind]:
    begun = _left(made.root / "unfinished-build", made.build, _some("shards/*.parquet", 2))
    again = answers.of_unfinished(made.build)
    parts = (".building/*.arrow", ".building/*.words", ".building/*.parquet")
    return [
        Kind("unfinished build: parts", begun, parts, again, 40, False),
        Kind("unfinished build: seals", begun, (".building/*.seal",), again, 20, False),
        Kind("unfinished build: shards", begun, ("shards/*.parquet",), again, 20, False),
        Kind("unfinished build: lexicon", begun, ("lexicon.parquet",), again, 10, False),
    ]


def _rows(made: Material) -> list[Kind]:
    """Of corpora that are built from rows that are in no file: cleaned and planted ones."""
    clean, plant = made.clean, made.plant_rows
    cleaning = _left(made.root / "unfinished-clean", clean, _some("shards/*.parquet", 2))
    planting = _left(made.root / "unfinished-plant", plant, _some("corpus/shards/*.parquet", 2))
    cleaned, planted = answers.of_unfinished(clean), answers.of_unfinished(plant)
    found = (".building/cleaning-*.arrow",)
    parts = tuple(f".building/{name}" for name in ("rows-*.arrow", "number*.arrow", "*.words"))
    inner = tuple(f"corpus/{name}" for name in parts)
    before = (".before/corpus/*.parquet", ".before/corpus/shards/*", ".before/corpus/manifest.json")
    return [
        Kind("unfinished clean: findings", cleaning, found, cleaned, 20, False),
        Kind("unfinished clean: parts", cleaning, parts, cleaned, 20, False),
        Kind("unfinished clean: seals", cleaning, (".building/*.seal",), cleaned, 10, False),
        Kind("unfinished plant: parts", planting, inner, planted, 20, False),
        Kind("unfinished plant: shards", planting, ("corpus/shards/*",), planted, 10, False),
        Kind("unfinished plant: corpus before", planting, before, planted, 15, False),
        Kind("unfinished plant: record", planting, (".before/planting",), planted, 5, False),
        Kind("unfinished plant: seals", planting, ("**/*.seal", "**/seal.txt"), planted, 10, False),
    ]


def _reports(made: Material) -> list[Kind]:
    begun = _left(made.root / "unfinished-report", made.report, _some(".work/held-out*", MANY))
    again = answers.of_unfinished(made.report)
    found = [
        Kind(f"unfinished run: {stage}", begun, (f".work/{stage}*.parquet",), again, 25, False)
        for stage in ("score", "collect", "count", "held-out")
    ]
    found.append(Kind("unfinished run: seals", begun, (".work/*.seal",), again, 20, False))

    def judged() -> tuple[object, ...]:
        made.public  # noqa: B018 (it is made, so that no public model is trained here)
        return made.crossfit(made.root / "public")

    public = _left(made.root / "unfinished-judging", judged, _some(".work/public*.seal", 1))
    answer = answers.of_unfinished(judged)
    found += [
        Kind("unfinished run: public", public, (".work/public*",), answer, 15, False),
    ]

    def on_ray() -> tuple[object, ...]:
        return (*made.report(), *RAY)

    spread = _left(made.root / "unfinished-on-ray", on_ray, _some(".work/held-out*", MANY))
    answer = answers.of_unfinished(on_ray)
    found.append(
        Kind("unfinished run on ray", spread, (".work/*",), answer, 10, False, on_ray=True)
    )
    return found


def _measurements(made: Material) -> list[Kind]:
    """Of canaries and of updates."""
    found = []
    for name, arguments, reached in (
        ("exposure", made.exposure, _some(".work/score-*.parquet", 1)),
        ("attack", made.attack, _some(".work/beam-*.parquet", 1)),
        ("diff", made.diff, _some(".work/rank-*.parquet", 2)),
    ):
        begun = _left(made.root / f"unfinished-{name}", arguments, reached)
        answer = answers.of_unfinished(arguments)
        kept, seals = (".work/*.parquet",), (".work/*.seal",)
        found += [
            Kind(f"unfinished {name}: kept", begun, kept, answer, 25, False),
            Kind(f"unfinished {name}: seals", begun, seals, answer, 10, False),
        ]
    return found


def _some(pattern: str, count: int) -> Callable[[Path], bool]:
    return lambda out: len(list(out.glob(pattern))) >= count


def _first_checkpoint(out: Path) -> bool:
    """Whether the first one is there as a whole, and nothing else."""
    tensors = list(out.glob("checkpoints/*/optimizer.safetensors"))
    return len(tensors) == 1 and (out / "checkpoint.json").exists()


def _left(out: Path, arguments: Arguments, reached: Callable[[Path], bool]) -> Callable[[], Path]:
    """What a command leaves that is killed there."""

    def made() -> Path:
        if not out.exists():
            work = still(command(*arguments(), "--out", out))
            ended = forked(killed_once(work, lambda: reached(out)), limit=300)
            if ended.code != -9:
                raise RuntimeError(f"{arguments()} was not killed: {ended.code}, {ended.err}")
        return out

    return made
