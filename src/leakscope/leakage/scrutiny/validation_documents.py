"""What validation documents cost the model, each of them: how well it serves each user."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.records.artifacts import write_parquet
from leakscope.records.documents import Documents, FloatArray
from leakscope.records.ragged import row_sums
from leakscope.records.runs.validation_document_columns import FILE, validation_documents_schema


@dataclass(frozen=True)
class ValidationDocuments:
    """The documents that were scored, as a table of the file's columns."""

    table: pa.Table

    @staticmethod
    def of(parts: list[tuple[Documents, FloatArray]]) -> "ValidationDocuments | None":
        """From documents and the log-probabilities of all their words; None if some are not told.
        Documents without words are left out.
        """
        tables = []
        for documents, log_prob in parts:
            if np.isnan(log_prob).any():
                return None
            said = np.flatnonzero(documents.lengths())
            columns = (
                documents.users,
                documents.numbers,
                documents.lengths().astype(np.int64),
                row_sums(log_prob.astype(np.float64), documents.offsets),
            )
            columns_said = [pa.array(column[said]) for column in columns]
            tables.append(pa.table(columns_said, schema=validation_documents_schema()))
        return ValidationDocuments(pa.concat_tables(tables)) if tables else None

    def write(self, run: Path) -> None:
        """Write the file into a run directory."""
        write_parquet(run / FILE, self.table)
