"""The columns of `validation_documents.parquet`."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from leakscope.records.artifacts import damaged, read_parquet
from leakscope.records.columns import Column, schema_of

FILE = "validation_documents.parquet"
COLUMNS: tuple[Column, ...] = (
    Column("user", pa.int32(), "the user's number"),
    Column("document", pa.int64(), "the document's number"),
    Column("words", pa.int64(), "how many words it has"),
    Column("log_prob", pa.float64(), "sum over its words, by the model"),
)


def validation_documents_schema() -> pa.Schema:
    """The Arrow schema of the file."""
    return schema_of(COLUMNS)


def read_documents(run: Path) -> pa.Table:
    """The file of a run directory: no document twice, each with words and a probability."""
    table = read_parquet(run / FILE)
    if table.schema.remove_metadata() != validation_documents_schema() or any(
        column.null_count for column in table.columns
    ):
        raise damaged(run / FILE)
    numbers, words = table["document"].to_numpy(), table["words"].to_numpy()
    log_prob = table["log_prob"].to_numpy()
    sound = len(np.unique(numbers)) == len(numbers) and (words > 0).all()
    if not (sound and (log_prob < 0.01 * words).all()):  # rounding may leave a little above 0
        raise damaged(run / FILE)
    return table
