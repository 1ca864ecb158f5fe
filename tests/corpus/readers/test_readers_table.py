import csv
import gzip
import hashlib
import json
import tempfile
import uuid
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus.readers import table
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import INVALID_UTF8, MALFORMED, Row
from leakscope.corpus.readers.table import read_arrow, read_csv, read_parquet
from leakscope.records.errors import LeakscopeError

BAD = Row(None, None, INVALID_UTF8)


def csv_rows(folder, content, name="data.csv"):
    path = folder / name
    path.write_bytes(content)
    return list(read_csv(path, InputSettings()))


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b"b,caf\xe9", BAD),
        (b"b\xff,x", BAD),
        (b",x", Row(None, "x")),
        (b"b,", Row("b", "")),
        (b"b", Row(None, None, MALFORMED)),
        (b"b,x,y", Row(None, None, MALFORMED)),
        (b'b,"he said "hi" to me"', Row(None, None, MALFORMED)),
        (b'b,"two\r\nlines, ""so"""', Row("b", 'two\r\nlines, "so"')),
        (b"b," + b"x" * 200_000, Row("b", "x" * 200_000)),
        (b"b,\0", Row("b", "\0")),
    ],
)
def test_csv_lines(tmp_path, line, row):
    content = b"\xef\xbb\xbfuser,text\r\nann,hi\r\n\r\n" + line + b"\r\nann,hi"
    assert csv_rows(tmp_path, content) == [Row("ann", "hi"), row, Row("ann", "hi")]


def test_csv_may_be_compressed_or_empty(tmp_path):
    content = gzip.compress(b"user,text\nann,hi\n")
    assert csv_rows(tmp_path, content, "data.csv.gz") == [Row("ann", "hi")]
    assert csv_rows(tmp_path, b"") == []


def test_csv_with_an_open_quote_is_an_error(tmp_path):
    with pytest.raises(LeakscopeError, match="never closed, at or before line 3"):
        csv_rows(tmp_path, b'user,text\nann,hi\nann,"secret')


def test_csv_quote_that_swallows_much_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "MAX_RECORD", 100)
    with pytest.raises(LeakscopeError, match="never closed"):
        csv_rows(tmp_path, b'user,text\nann,"hi\n' + b"ann,hi\n" * 50)
    with pytest.raises(LeakscopeError, match="line over 100"):
        csv_rows(tmp_path, b"user,text\n" + b"ann,hi," * 50)


def test_csv_without_header_is_not_quoted(tmp_path):
    with pytest.raises(LeakscopeError, match="not shown") as caught:
        csv_rows(tmp_path, b"ann,my secret text\n")
    assert "secret" not in str(caught.value) and "ann" not in str(caught.value)


words = st.text(st.characters(exclude_categories=["Cs"]))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(words, words), max_size=5))
def test_csv_round_trip(documents):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("user", "text"), *documents])
        assert list(read_csv(path, InputSettings())) == [Row(u or None, t) for u, t in documents]


def parquet(folder, data):
    path = folder / "data.parquet"
    pq.write_table(data, path, row_group_size=2)
    return path, read_parquet


def arrow_file(folder, data):
    path = folder / "data.arrow"
    with pa.ipc.new_file(path, data.schema) as writer:
        writer.write_table(data)
    return path, read_arrow


def feather(folder, data):
    path = folder / "data.feather"
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(path, data.schema, options=options) as writer:
        writer.write_table(data)
    return path, read_arrow


def arrow_stream(folder, data):
    path = folder / "stream.arrow"
    with pa.ipc.new_stream(path, data.schema) as writer:
        writer.write_table(data)
    return path, read_arrow


binary_formats = pytest.mark.parametrize("write", [parquet, arrow_file, feather, arrow_stream])


def rows_of(folder, write, **columns):
    path, read = write(folder, pa.table(columns))
    return list(read(path, InputSettings()))


def strings(values, kind):
    """Make a string column that may hold invalid bytes, which pyarrow would refuse to make."""
    if kind == "dictionary":
        words = [value for value in values if value is not None]
        indices = pa.array([None if v is None else words.index(v) for v in values], pa.int32())
        return pa.DictionaryArray.from_arrays(indices, strings(words, "string"), safe=False)
    raw = {"string": pa.binary(), "large_string": pa.large_binary(), "binary": pa.binary()}
    array = pa.array(values, raw.get(kind, pa.binary_view()))
    if kind == "binary":
        return array
    if kind == "string_view":
        return array.view(pa.string_view())
    return array.view(pa.string() if kind == "string" else pa.large_string())


INVALID = [
    (write, kind)
    for write in (parquet, arrow_file, arrow_stream)
    for kind in ("string", "large_string", "dictionary", "binary", "string_view")
    if (write, kind) != (parquet, "string_view")  # Parquet has no such type
]


@pytest.mark.parametrize(("write", "kind"), INVALID)
def test_one_invalid_value_sets_one_row_aside(tmp_path, write, kind):
    user = strings([b"ann", b"b\xc3\xa9", None, b"d", b"e\xff"], kind)
    text = strings([b"hi", b"caf\xe9", b"x", None, b"y"], kind)
    expected = [Row("ann", "hi"), BAD, Row(None, "x"), Row("d", None), BAD]
    assert rows_of(tmp_path, write, text=text, n=[1] * 5, user=user) == expected


@binary_formats
@pytest.mark.parametrize(
    ("value", "name"),
    [
        (7, "7"),
        (7.5, "7.5"),
        (True, "True"),
        (float("nan"), None),
        (Decimal("12"), "12"),
        (None, None),
    ],
)
def test_users_that_are_not_strings(tmp_path, write, value, name):
    assert rows_of(tmp_path, write, user=[value], text=["x"]) == [Row(name, "x")]


def test_uuid_users(tmp_path):
    user = uuid.UUID(int=5)
    column = pa.array([user.bytes], pa.uuid())
    assert rows_of(tmp_path, arrow_file, user=column, text=["x"]) == [Row(str(user), "x")]


@binary_formats
def test_other_types_are_malformed(tmp_path, write):
    bad = Row(None, None, MALFORMED)
    assert rows_of(tmp_path, write, user=["a"], text=[3]) == [bad]
    assert rows_of(tmp_path, write, user=[["a"]], text=["x"]) == [bad]


@binary_formats
def test_a_missing_column_is_named_with_the_columns(tmp_path, write):
    with pytest.raises(LeakscopeError, match='has no column "user" but author, text'):
        rows_of(tmp_path, write, author=["secret"], text=["x"])
    with pytest.raises(LeakscopeError, match='has no column "text" but user'):
        rows_of(tmp_path, write, user=["secret"])


@binary_formats
def test_a_column_twice_is_an_error(tmp_path, write):
    data = pa.Table.from_arrays([pa.array(["a"])] * 3, ["user", "text", "text"])
    path, read = write(tmp_path, data)
    with pytest.raises(LeakscopeError, match='several columns "text"'):
        list(read(path, InputSettings()))


@binary_formats
def test_many_rows_keep_their_order(tmp_path, write):
    names = [f"u{i}" for i in range(3 * table.BATCH + 1)]
    assert rows_of(tmp_path, write, user=names, text=names) == [Row(n, n) for n in names]


@binary_formats
@pytest.mark.parametrize("keep", [0, 4, 0.5, 0.9])
def test_a_truncated_file_is_an_error(tmp_path, write, keep):
    texts = [f"{i}" * 50 for i in range(2000)]
    path, read = write(tmp_path, pa.table({"user": texts, "text": texts}))
    content = path.read_bytes()
    path.write_bytes(content[: int(keep if keep in (0, 4) else keep * len(content))])
    with pytest.raises(LeakscopeError, match="cut short"):
        list(read(path, InputSettings()))


def test_corruption_midway_is_an_error_after_the_good_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "BATCH", 10)
    texts = [hashlib.sha512(b"%d" % i).hexdigest() * 5 for i in range(40)]
    path = tmp_path / "data.parquet"
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    pq.write_table(pa.table({"user": texts, "text": texts}), path, row_group_size=10, **options)
    content = bytearray(path.read_bytes())
    content[content.rindex(texts[25].encode()) + 7] ^= 1  # still UTF-8: only the checksum can tell
    path.write_bytes(content)
    drawn = []
    with pytest.raises(LeakscopeError, match="damaged"):
        for row in read_parquet(path, InputSettings()):
            drawn.append(row)
    assert drawn == [Row(text, text) for text in texts[:20]]


@pytest.mark.parametrize("in_dictionary", [False, True])
def test_offsets_out_of_bounds_are_an_error(tmp_path, in_dictionary):
    """Without the check, pyarrow reads foreign memory or crashes."""
    offsets = pa.array([0, 10**8, 6], pa.int32()).buffers()[1]
    text = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"abcdef"))
    if in_dictionary:
        text = pa.DictionaryArray.from_arrays(pa.array([0, 1]), text, safe=False)
    with pytest.raises(LeakscopeError, match="damaged"):
        rows_of(tmp_path, arrow_stream, user=["a", "b"], text=text)


@pytest.fixture
def saved(tmp_path):
    """Folders of a Dataset in three shards, filtered beforehand, and of a DatasetDict."""
    import datasets

    datasets.disable_progress_bars()
    names = [f"u{i}" for i in range(20)]
    whole = datasets.Dataset.from_dict({"user": names, "text": [n * 2 for n in names]})
    part = whole.select(range(10, 20))
    part.save_to_disk(tmp_path / "one", num_shards=3)
    splits = {"train": whole.select([0, 1]), "dev": whole.select([2]), "a": whole.select([3])}
    datasets.DatasetDict(splits).save_to_disk(tmp_path / "dict")
    return tmp_path


def test_saved_datasets(saved):
    one = [Row(f"u{i}", f"u{i}u{i}") for i in range(10, 20)]
    assert list(read_arrow(saved / "one", InputSettings())) == one
    splits = [Row(f"u{i}", f"u{i}u{i}") for i in range(4)]
    assert list(read_arrow(saved / "dict", InputSettings())) == splits


def test_shards_are_read_as_state_json_lists_them(saved):
    path = saved / "one" / "state.json"
    state = json.loads(path.read_text())
    state["_data_files"].reverse()
    path.write_text(json.dumps(state))
    users = [row.user for row in read_arrow(saved / "one", InputSettings())]
    assert users == [f"u{i}" for i in (17, 18, 19, 14, 15, 16, 10, 11, 12, 13)]


def test_a_broken_saved_dataset_is_an_error(saved):
    (saved / "one" / "data-00001-of-00003.arrow").unlink()
    with pytest.raises(LeakscopeError, match=r"data-00001-of-00003.arrow is missing"):
        list(read_arrow(saved / "one", InputSettings()))
    for content in ("{", "{}", '{"_data_files": 3}', "[]"):
        (saved / "one" / "state.json").write_text(content)
        with pytest.raises(LeakscopeError, match=r"state.json is damaged"):
            list(read_arrow(saved / "one", InputSettings()))
    (saved / "one" / "state.json").unlink()
    with pytest.raises(LeakscopeError, match=r"no state.json"):
        list(read_arrow(saved / "one", InputSettings()))
