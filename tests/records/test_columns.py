"""The registries of columns, and that the documentation names every one of them."""

from pathlib import Path

import pytest

from leakscope.records.runs import (
    occurrence_columns,
    sequence_columns,
    user_columns,
    validation_document_columns,
)

DOCS = Path(__file__).parents[2] / "docs" / "files.md"
REGISTRIES = {
    "sequences.parquet": sequence_columns.COLUMNS,
    "occurrences.parquet": occurrence_columns.COLUMNS,
    "users.parquet": user_columns.COLUMNS,
    "validation.parquet": occurrence_columns.VALIDATION_COLUMNS,
    "validation_documents.parquet": validation_document_columns.COLUMNS,
}


def documented(file: str) -> list[str]:
    """The rows of the table of columns below the heading of a file."""
    text = DOCS.read_text(encoding="utf-8").split(f"### `{file}`\n")[1].split("\n#")[0]
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    return [" ".join(row.split()) for row in rows]


@pytest.mark.parametrize("file", REGISTRIES)
def test_the_documentation_has_every_column_with_its_meaning(file):
    def null(column) -> str:
        if column.withheld:
            return "in a redacted run"
        return "unless unique and measured" if column.unique_only else ""

    expected = [
        f"| `{column.name}` | {column.type} | {column.meaning} | {null(column)} |".replace(
            "|  |", "| |"
        )
        for column in REGISTRIES[file]
    ]
    assert documented(file) == expected


@pytest.mark.parametrize("file", REGISTRIES)
def test_names_are_different_and_displays_name_columns_that_are_there(file):
    names = [column.name for column in REGISTRIES[file]]
    assert len(set(names)) == len(names)
    for column in REGISTRIES[file]:
        if column.display is not None:
            for other in (column.display.exact, column.display.instead):
                assert not other or other in names
