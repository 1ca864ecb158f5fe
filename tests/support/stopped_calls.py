"""Counts calls of a function of the code, which still does its work, and stops the work at one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any


class StoppedError(Exception):
    """The work was stopped, as a kill would."""


class StoppedCalls:
    """Stands in the place of a function."""

    def __init__(self, function: Callable[..., Any], stop_at: int | None = None) -> None:
        self._function, self._stop_at, self.count = function, stop_at, 0

    def __call__(self, *given: Any, **options: Any) -> Any:
        """The call is made, and what it gives is lost where the work is stopped."""
        found = self._function(*given, **options)
        self.count += 1
        if self.count == self._stop_at:
            raise StoppedError
        return found


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def flip(path: Path, place: int = 200) -> None:
    """One bit."""
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << (place % 8)
    path.write_bytes(content)


def kept(out: Path, stage: str = "*") -> dict[Path, int]:
    """When each kept file of a stage was written."""
    return {path: path.stat().st_mtime_ns for path in (out / ".work").glob(f"{stage}-*.parquet")}
