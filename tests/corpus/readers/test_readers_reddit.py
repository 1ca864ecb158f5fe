import json

import pytest
import zstandard

from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.reddit import read_reddit
from leakscope.corpus.readers.rows import DELETED_AUTHOR, MALFORMED, REMOVED_TEXT, Row
from leakscope.records.errors import LeakscopeError

COMMENT = {"author": "ann", "body": "hello"}


def rows_of(tmp_path, *records):
    path = tmp_path / "RC_2019-01.zst"
    text = "\n".join(json.dumps(record) for record in records)
    path.write_bytes(zstandard.compress(text.encode()))
    return list(read_reddit(path, InputSettings()))


@pytest.mark.parametrize(
    ("record", "row"),
    [
        ({"author": "b", "title": "T", "selftext": "S\n2"}, Row("b", "T\nS\n2")),
        ({"author": "b", "title": "T", "selftext": ""}, Row("b", "T")),
        ({"author": "b", "title": "T"}, Row("b", "T")),
        ({"author": "[deleted]", "body": "x"}, Row(None, None, DELETED_AUTHOR)),
        ({"author": "[removed]", "body": "x"}, Row(None, None, DELETED_AUTHOR)),
        ({"author": "b", "body": "[deleted]"}, Row(None, None, REMOVED_TEXT)),
        ({"author": "b", "body": "[removed]"}, Row(None, None, REMOVED_TEXT)),
        ({"author": "b", "body": "it was [removed]"}, Row("b", "it was [removed]")),
        (
            {"author": "b", "title": "T", "selftext": "[removed]"},
            Row(None, None, REMOVED_TEXT),
        ),
        ({"author": None, "body": "x"}, Row(None, "x")),
        ({"author": "b", "body": None}, Row("b", None)),
        ({"author": "b", "body": ["x"]}, Row(None, None, MALFORMED)),
        ({"author": "b", "title": "T", "selftext": 1}, Row(None, None, MALFORMED)),
        ({"author": "b"}, Row(None, None, MALFORMED)),
        ([], Row(None, None, MALFORMED)),
    ],
)
def test_posts(tmp_path, record, row):
    assert rows_of(tmp_path, COMMENT, record) == [Row("ann", "hello"), row]


@pytest.mark.parametrize("record", [{"author": "secret"}, {"body": "secret"}, {"user": "secret"}])
def test_other_json_is_an_error(tmp_path, record):
    with pytest.raises(LeakscopeError, match="not a Reddit dump") as caught:
        rows_of(tmp_path, record)
    assert "secret" not in str(caught.value)
