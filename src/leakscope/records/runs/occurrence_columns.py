"""The columns of `occurrences.parquet` and of `validation.parquet`."""

import pyarrow as pa

from leakscope.records.columns import Column, schema_of

COLUMNS: tuple[Column, ...] = (
    Column("sequence", pa.int32(), "the `id` of the sequence"),
    Column("user", pa.int32(), "the user's number"),
    Column("document", pa.int64(), "the document's number"),
    Column("start", pa.int32(), "words before it in the document"),
    Column("length", pa.int32(), "how many words it has"),
    Column("perplexity", pa.float32(), "of its words in this context"),
    Column("copied", pa.bool_(), "whether the same words stood in the context already"),
    Column("near_tie", pa.bool_(), "whether a prediction was too close for 32-bit arithmetic"),
    Column("ranks", pa.list_(pa.int32()), "of each of its words"),
    Column("log_probs", pa.list_(pa.float32()), "of each of its words"),
    Column("top_log_probs", pa.list_(pa.float32()), "of the model's first choice at each word"),
    Column(
        "public_log_probs",
        pa.list_(pa.float32()),
        "of each of its words, by the public model",
        unique_only=True,
    ),
)
VALIDATION_COLUMNS: tuple[Column, ...] = (
    Column("rank", pa.int32(), "of a validation word"),
    Column("top_log_prob", pa.float32(), "of the model's first choice there"),
)


def occurrences_schema() -> pa.Schema:
    """The Arrow schema of `occurrences.parquet`."""
    return schema_of(COLUMNS)


def validation_schema() -> pa.Schema:
    """The Arrow schema of `validation.parquet`."""
    return schema_of(VALIDATION_COLUMNS)
