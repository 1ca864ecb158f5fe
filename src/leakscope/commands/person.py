"""`person`."""

import os
from pathlib import Path
from typing import Any

from leakscope.auditing.users.person_lookup import find_person
from leakscope.commands.command_settings import PersonSettings
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.corpus.store import Corpus
from leakscope.records.artifacts import write_sealed, write_text
from leakscope.records.output_claim import claimed, remove
from leakscope.records.runs.person_record import PersonRecord
from leakscope.records.runs.run_manifest import open_run
from leakscope.records.seal import SEAL
from leakscope.reporting.pages.person_page import write_person_page
from leakscope.reporting.person.person_csv import person_csv
from leakscope.reporting.person.person_facts import person_record

RECORD, PAGE, TABLE = "person.json", "person.html", "person.csv"
PERSON_FILES = (TABLE, PAGE, RECORD, SEAL)


@takes_options_of("person")
def person(
    run: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    **options: Any,
) -> PersonRecord:
    """What a model gives away of one user, from the run directory of its report, as page, JSON and
    CSV in the directory `out`. Of a redacted run, numbers only.
    """
    asked = Given("person", settings, options).make(PersonSettings)
    source, target = Path(run), Path(out)
    corpus = None if asked.corpus is None else Corpus.open(asked.corpus)
    found = person_record(source, find_person(source, asked.user, asked.number, corpus))
    with claimed(target, "person") as claim:
        claim.clear(PERSON_FILES)
        try:
            write_person_page(target / PAGE, found, open_run(source)[0])
            write_text(target / TABLE, person_csv(found))
            write_sealed(target / RECORD, found, [PAGE, TABLE])
        except BaseException:
            for name in PERSON_FILES:  # half of it serves nobody
                remove(target / name)
            raise
    return found
