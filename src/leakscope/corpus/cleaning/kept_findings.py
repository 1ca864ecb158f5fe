"""What a cleaning has found out so far, kept beside the parts of its corpus until it has finished:
the same cleaning, when it comes again, need not find it out again.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from leakscope.corpus.parts.part_files import notes_of, opened_part, part_sink
from leakscope.engine.progress import Progress, silent, tell_damaged
from leakscope.records.artifacts import is_intact
from leakscope.records.output_claim import remove

_ACCOUNT = "account"
_NOTHING = pa.record_batch([], schema=pa.schema([]))


class KeptFindings:
    """Findings of the cleaning of this digest in a folder; those of others are never seen, and
    damaged ones are named.
    """

    def __init__(self, folder: Path, digest: str, progress: Progress = silent) -> None:
        self._folder, self._digest, self._progress = folder, digest, progress

    def columns(self, what: str, find: Callable[[], pa.RecordBatch]) -> dict[str, list[Any]]:
        """The columns of something found; it is found and kept first, unless it is there intact."""
        path = self._path(what)
        if not self._has(path):
            found = find()
            with part_sink(path, found.schema) as write:
                write(found)
        with opened_part(path) as ((batch, _),):
            columns: dict[str, list[Any]] = batch.to_pydict()
            return columns

    def is_accounted_for(self) -> bool:
        """Whether all rows have been cleaned, and what that changed is known."""
        return self._has(self._path(_ACCOUNT))

    def account(self) -> Any:
        """What was kept by `keep_account`."""
        return notes_of(self._path(_ACCOUNT))[-1]

    def keep_account(self, changes: Any) -> None:
        """Keep, as plain data, what cleaning all rows has changed."""
        with part_sink(self._path(_ACCOUNT), _NOTHING.schema) as write:
            write(_NOTHING, changes)

    def remove(self) -> None:
        """Remove the whole folder; that all is accounted for is known to the last."""
        account = self._path(_ACCOUNT).name
        for entry in self._folder.iterdir():
            if not entry.name.startswith(account):
                remove(entry)
        remove(self._folder)

    def _has(self, path: Path) -> bool:
        intact = is_intact(path)
        if not intact and path.exists():
            tell_damaged([path], self._progress)
        return intact

    def _path(self, what: str) -> Path:
        return self._folder / f"cleaning-{what}-{self._digest}.arrow"
