"""The columns of `users.parquet`, and how each is shown."""

import pyarrow as pa

from leakscope.records.columns import PAGE, Column, Display, schema_of

COLUMNS: tuple[Column, ...] = (
    Column("user", pa.int32(), "the user's number"),
    Column("user_key", pa.string(), "the user's key in the corpus", withheld=True),
    Column(
        "documents",
        pa.int64(),
        "training documents of the user",
        display=Display("Documents", "count", PAGE),
    ),
    Column(
        "words", pa.int64(), "words in these documents", display=Display("Words", "count", PAGE)
    ),
    Column("occurrences", pa.int64(), "correct runs in these documents"),
    Column(
        "unique_sequences",
        pa.int64(),
        "unique sequences that came out of these documents",
        display=Display("Unique sequences", "count", PAGE),
    ),
    Column(
        "confirmed_sequences",
        pa.int64(),
        "of these, those that are confirmed as more than chance",
        unique_only=True,
        display=Display("Confirmed", "count", PAGE, optional=True),
    ),
    Column(
        "longest_unique",
        pa.int32(),
        "words of the longest of them",
        unique_only=True,
        display=Display("Longest, words", "count", PAGE),
    ),
    Column(
        "shortest_context",
        pa.int32(),
        "words of the shortest context that one of them came out of",
        unique_only=True,
        display=Display("Shortest context, words", "count", PAGE),
    ),
    Column(
        "largest_ratio",
        pa.float32(),
        "the largest perplexity ratio of them, public model over this one",
        unique_only=True,
        display=Display("Largest ratio", "number", PAGE, optional=True),
    ),
    Column(
        "least_context",
        pa.int32(),
        "words of the shortest prompt that still brings one of them out",
        unique_only=True,
        display=Display("Least context", "count", PAGE),
    ),
    Column(
        "pii",
        pa.list_(pa.string()),
        "kinds of personal data that they look like",
        unique_only=True,
        display=Display("Looks like", "kinds", PAGE),
    ),
)


def users_schema() -> pa.Schema:
    """The Arrow schema of `users.parquet`."""
    return schema_of(COLUMNS)
