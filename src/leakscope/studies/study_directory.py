"""The directory of a study of any kind: taken up again, filled with what is missing, and sealed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from pydantic import BaseModel

from leakscope.engine.progress import Progress
from leakscope.records.artifacts import read_json, write_sealed
from leakscope.records.output_claim import check_claimable, claimed, is_unfinished
from leakscope.records.received_files import refuse_special_files
from leakscope.records.seal import SEAL
from leakscope.records.tables.row_tables import write_rows
from leakscope.studies.kept_results import Clock, KeptResults

STEPS, RECORD, PAGE = "steps", "study.json", "study.html"
ONE_SEED = (
    "There is one seed, so that nothing tells how far chance goes in training; add more by --seed."
)
Record = TypeVar("Record", bound=BaseModel)


class StudyTable(NamedTuple):
    """One table of a study, and the file that it goes into."""

    file: str
    rows: Sequence[BaseModel]
    row: type[BaseModel]


@dataclass(frozen=True)
class StudyKind(Generic[Record]):
    """What studies of one command have in common."""

    command: str
    what: str
    """As errors call it, such as "a study"."""
    record: type[Record]
    tables: tuple[str, ...]
    """The files of its tables."""
    write_page: Callable[[Record, Path], None]

    def into(
        self,
        out: Path,
        clock: Clock,
        progress: Progress,
        fill: Callable[[KeptResults], tuple[Record, Sequence[StudyTable]]],
    ) -> Record:
        """Make what is missing of a study in `out`: a new directory, or one of an earlier study or
        of one that was killed.
        """
        files = (PAGE, *self.tables)
        with claimed(out, self.command, recognised=self._is_there(out)) as claim:
            claim.clear(keep=(STEPS, RECORD, SEAL, *files))
            steps = out / STEPS
            claim.sweep([steps] if steps.is_dir() else [])
            record, tables = fill(KeptResults(steps, clock, progress))
            for table in tables:
                write_rows(out / table.file, table.rows, table.row)
            self.write_page(record, out / PAGE)
            said = sorted(f"{STEPS}/{path.name}" for path in steps.glob("*.json"))
            write_sealed(out / RECORD, record, [*files, *said])
        return record

    def check(self, out: Path) -> None:
        """Refuse a directory that `into` would refuse; nothing is written."""
        if not self._is_there(out):
            check_claimable(out, self.command)

    def _is_there(self, out: Path) -> bool:
        """Whether `out` is a finished study of ours."""
        if not (out / RECORD).is_file() or is_unfinished(out):
            return False
        refuse_special_files(out)
        read_json(out / RECORD, self.record, self.what)
        return True
