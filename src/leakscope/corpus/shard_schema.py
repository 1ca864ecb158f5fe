"""The shard files: documents of whole users, in user order, as Parquet."""

import pyarrow as pa

SCHEMA = pa.schema(
    [
        ("user", pa.int32()),
        ("user_key", pa.large_string()),
        ("document", pa.int64()),
        ("split", pa.string()),
        ("words", pa.list_(pa.int32())),
        ("text", pa.large_string()),
        ("input", pa.int32()),
        ("row", pa.int64()),
    ]
)
ORIGIN = ("input", "row")
"""Columns that earlier versions did not write; null where the origin is not known."""
GROUP_DOCUMENTS = 65_536
GROUP_CHARACTERS = 32 << 20
"""A row group ends with the document that brings it to either of these."""
