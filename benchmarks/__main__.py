"""`python -m benchmarks [group ...]`: all but those that run only when asked, or the named ones."""

import os
import sys
from pathlib import Path

if "OMP_WAIT_POLICY" not in os.environ:  # as the command line sets it, for both sides alike
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")

import torch

from benchmarks import (
    billion,
    bounds,
    building,
    canaries,
    cluster,
    counting,
    forecasts,
    help_pages,
    private,
    regularizers,
    reporting,
    scaling,
    scoring,
    secrets,
    training,
    updates,
    workers,
)
from benchmarks.lines import Line, save, show

GROUPS = {
    "building": building.lines,
    "scoring": scoring.lines,
    "counting": counting.lines,
    "training": training.lines,
    "canaries": canaries.lines,
    "private": private.lines,
    "regularizers": regularizers.lines,
    "updates": updates.lines,
    "workers": workers.lines,
    "scaling": scaling.lines,
    "cluster": cluster.lines,
    "public": reporting.public_lines,
    "reporting": reporting.lines,
    "help": help_pages.lines,
    "forecasts": forecasts.lines,
    "hundred": lambda: scaling.lines((10_000_000, 100_000_000)),
    "billion": billion.lines,
    "bounds": bounds.lines,
    "secrets": secrets.lines,
}
ONLY_WHEN_ASKED = ("forecasts", "hundred", "billion", "bounds", "secrets")


def main() -> None:
    chosen = sys.argv[1:] or [name for name in GROUPS if name not in ONLY_WHEN_ASKED]
    torch.set_num_threads(2)
    lines: list[Line] = []
    for name in chosen:
        lines += GROUPS[name]()
        show(lines)
        save(lines, Path(__file__).parent / "results" / "bench.json")
    if not all(line.holds for line in lines):
        raise SystemExit(1)


if __name__ == "__main__":  # and not in the processes that a benchmark starts
    main()
