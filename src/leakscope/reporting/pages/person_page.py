"""`person.html`: what a model gives away of one person."""

from pathlib import Path

from leakscope.records.artifacts import write_text
from leakscope.records.runs.person_columns import person_columns
from leakscope.records.runs.person_record import PersonRecord
from leakscope.records.runs.run_manifest import RunManifest
from leakscope.reporting.facts.guarantee import guarantee_of, stamps
from leakscope.reporting.facts.interface_facts import notes
from leakscope.reporting.pages.document import embedded, render
from leakscope.reporting.pages.listed_tables import ROWS, ListedTable, cell
from leakscope.reporting.person.person_facts import facts
from leakscope.reporting.rows import cells
from leakscope.reporting.rows.listing import sequence_row


def write_person_page(path: Path, record: PersonRecord, manifest: RunManifest) -> None:
    """Write the page of a record, which was made from the run with this manifest."""
    rows = [sequence_row(row, record.revealed) for row in record.sequences[:ROWS]]
    sequences = ListedTable.of(rows, person_columns(revealed=True), "page")
    page = render(
        "person.html",
        record=record,
        manifest=manifest,
        name=f"user {record.user}" if record.user_key is None else record.user_key,
        stamps=notes(record.interface) + stamps(guarantee_of(manifest)),
        facts=facts(record),
        sequences=sequences,
        sort_keys=embedded(sequences.sort_keys()),
        cell=cell,
        cells=cells,
    )
    write_text(path, page)
