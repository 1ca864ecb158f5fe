"""One line of the table: what was measured, the ratio, its bar."""

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Line:
    """`value` is a ratio unless `unit` says otherwise; it must be at most or at least `bar`, if
    there is one.
    """

    name: str
    value: float
    bar: float | None
    at_most: bool
    unit: str = "x"
    detail: str = ""

    @property
    def holds(self) -> bool:
        if self.bar is None:
            return True
        return self.value <= self.bar if self.at_most else self.value >= self.bar


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def interleaved(
    ours: Callable[[], object], theirs: Callable[[], object], repeats: int = 5
) -> tuple[float, float]:
    """Median seconds of both, taken in turns after one warm-up, so that noise hits both alike."""
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(repeats)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def show(lines: list[Line]) -> None:
    width = max(len(line.name) for line in lines)
    print(f"\n{'what':<{width}}  {'measured':>10}  {'bar':>10}  holds")
    for line in lines:
        sign = "<=" if line.at_most else ">="
        bar = "–" if line.bar is None else f"{sign} {line.bar:g}{line.unit}"
        value = f"{line.value:.3g}{line.unit}"
        verdict = "–" if line.bar is None else "yes" if line.holds else "NO"
        print(f"{line.name:<{width}}  {value:>10}  {bar:>10}  {verdict}  {line.detail}")


def save(lines: list[Line], path: Path) -> None:
    """Add the lines to a JSON file, replacing those of the same name."""
    known = {row["name"]: row for row in json.loads(path.read_text())} if path.exists() else {}
    known |= {line.name: asdict(line) | {"holds": line.holds} for line in lines}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(known.values()), indent=2) + "\n")
