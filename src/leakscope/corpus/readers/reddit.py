"""Reddit dumps: comments (author, body) and submissions (author, title, selftext)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.jsonl import objects
from leakscope.corpus.readers.row_values import row_of
from leakscope.corpus.readers.rows import DELETED_AUTHOR, MALFORMED, REMOVED_TEXT, Row
from leakscope.records.errors import LeakscopeError

DELETED = ("[deleted]", "[removed]")


def read_reddit(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield the comments or submissions of a dump (.gz and .zst too); its keys are fixed.

    What was deleted or removed is set aside. A submission is its title, a newline and its text.
    """
    first = True
    for record in objects(path):
        if isinstance(record, Row):
            yield record
            continue
        if first and not ("author" in record and ("body" in record or "title" in record)):
            raise LeakscopeError(
                f'{path} is not a Reddit dump, because it lacks "author" with "body" or "title": '
                "name another --format."
            )
        first = False
        yield _row(record)


def _row(record: dict[str, Any]) -> Row:
    author = record.get("author")
    body = record.get("body") if "body" in record else record.get("selftext")
    if author in DELETED:
        return Row(None, None, DELETED_AUTHOR)
    if body in DELETED:
        return Row(None, None, REMOVED_TEXT)
    if "body" not in record:
        title = record.get("title")
        if not isinstance(title, str) or not isinstance(body, str | None):
            return Row(None, None, MALFORMED)
        body = f"{title}\n{body}" if body else title  # a link has a title only
    return row_of(author, body)
