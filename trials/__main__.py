"""`python -m trials [group ...] [--seed N] [--count N]`: all groups, or the named ones."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
GROUPS = ("rows", "files", "kills", "flips", "changes", "disks", "writes")
SEED = 20261118
SHORT = {"rows": 40, "files": 12, "kills": 4, "flips": 10, "changes": 2, "disks": 3, "writes": 3}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m trials", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="group", help=", ".join(GROUPS))
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, help="how many cases of each group")
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
        found = told(name, _trial(name, short=asked.short)(asked.seed, *given))
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


def _trial(name: str, *, short: bool) -> Callable[..., Iterator]:
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
    from trials.flips.trial import flips, short_flips

    return short_flips if short else flips


if __name__ == "__main__":
    main()
