"""What `--help` costs: CPU seconds of a process of its own, the best of five."""

import resource
import subprocess
import sys

from benchmarks.lines import Line
from leakscope.cli.app import COMMANDS

ROOT, COMMAND = 0.3, 0.4  # seconds


def lines(repeats: int = 5) -> list[Line]:
    root = min(cpu_seconds([]) for _ in range(repeats))
    taken = {name: min(cpu_seconds(name.split()) for _ in range(repeats)) for name in COMMANDS}
    worst = max(taken, key=taken.__getitem__)
    return [
        Line("help: leakscope --help, CPU", root, ROOT, True, " s"),
        Line("help: slowest command's, CPU", taken[worst], COMMAND, True, " s", worst),
    ]


def cpu_seconds(command: list[str]) -> float:
    """User and system time of one help page."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-m", "leakscope", *command, "--help"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
