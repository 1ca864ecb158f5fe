"""`python -m trials [group ...] [--only PATTERN] [--seed N] [--count N]`: all groups, or the named
ones.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
GROUPS = ("rows", "files", "kills", "flips", "changes", "disks", "writes")
SEED = 20261118
SHORT = {"rows": 40, "files": 12, "kills": 4, "flips": 10, "changes": 2, "disks": 3, "writes": 2}
QUICK = {
    "kills": ("build", "train", "report", "build on s3"),
    "flips": (
        "corpus: shards", "model: config", "model: weights", "run: metrics", "harden: block list",
        "s3: corpus",
    ),
    "changes": ("build", "build on s3"),
    "disks": ("build", "train", "build on s3"),
    "writes": ("build", "build on s3"),
}  # fmt: skip
"""Commands and kinds of files that are quick."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m trials", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="group", help=", ".join(GROUPS))
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, help="how many cases of each group")
    parser.add_argument(
        "--only",
        action="append",
        metavar="PATTERN",
        help="only commands, or kinds of files, with such names, as in '* on s3'",
    )
    parser.add_argument("--short", action="store_true", help="a few quick cases of each group")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results")
    asked = parser.parse_args()
    if unknown := set(asked.groups) - set(GROUPS):
        parser.error(f"there is no group {', '.join(sorted(unknown))}")
    chosen = [each for each in GROUPS if each in asked.groups or not asked.groups]
    _prepare(chosen)
    from trials.outcomes import bad, save, show, told

    failed = False
    for name in chosen:
        begin = time.monotonic()
        count = SHORT[name] if asked.short else asked.count
        given = () if count is None else (count,)
        only = QUICK.get(name, ()) if asked.short else tuple(asked.only or ())
        chosen_by = {"only": only} if only else {}
        found = told(name, _trial(name)(asked.seed, *given, **chosen_by))
        seconds = time.monotonic() - begin
        show(name, found, seconds)
        save(asked.results, name, found, seed=asked.seed, seconds=seconds)
        failed |= bool(bad(found))
    raise SystemExit(int(failed))


def _prepare(groups: list[str]) -> None:
    """One thread, so that this process can be forked; no network; the tests' support at hand."""
    os.environ |= {
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    from trials.warm import warm, warm_kernels

    warm(causal="files" in groups)
    if groups != ["rows"]:
        warm_kernels()


def _trial(name: str) -> Callable[..., Iterator]:
    if name == "rows":
        from trials.odd_rows.trial import odd_rows

        return odd_rows
    if name == "files":
        from trials.odd_files.trial import odd_files

        return odd_files
    if name == "kills":
        from trials.kills.trial import kills

        return kills
    if name == "changes":
        from trials.changes.trial import changes

        return changes
    if name == "disks":
        from trials.disks.trial import disks

        return disks
    if name == "writes":
        from trials.kills.write_points import writes

        return writes
    from trials.flips.trial import flips

    return flips


if __name__ == "__main__":
    main()
