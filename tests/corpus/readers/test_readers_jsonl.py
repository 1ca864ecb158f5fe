import gzip
import json
import tempfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus.readers import byte_lines
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.jsonl import read_jsonl
from leakscope.corpus.readers.rows import INVALID_UTF8, MALFORMED, TOO_LONG, Row
from leakscope.records.errors import LeakscopeError

GOOD = b'{"user": "ann", "text": "hello"}\n'
LINES = b"".join(b'{"user": "u%d", "text": "%d"}\n' % (i, i**7) for i in range(2000))


def rows_of(tmp_path, content, name="data.jsonl", columns=None):
    path = tmp_path / name
    path.write_bytes(content)
    return list(read_jsonl(path, columns or InputSettings()))


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b'{"user": "b", "text": "caf\xe9"}', Row(None, None, INVALID_UTF8)),
        (b'{"user": "b", "text": "\\ud800"}', Row(None, None, INVALID_UTF8)),
        (b'{"user": "\\udfff", "text": "x"}', Row(None, None, INVALID_UTF8)),
        (b'{"user": "b", "text": "\\ud83d\\ude00"}', Row("b", "😀")),
        (b'{"user": "b", "text": "x"', Row(None, None, MALFORMED)),
        (b'["b", "x"]', Row(None, None, MALFORMED)),
        (b"[" * 100_000, Row(None, None, MALFORMED)),
        (b'{"user": ' + b"1" * 5000 + b', "text": "x"}', Row(None, None, MALFORMED)),
        (b'{"user": {}, "text": "x"}', Row(None, None, MALFORMED)),
        (b'{"user": "b", "text": 3}', Row(None, None, MALFORMED)),
        (b'{"user": 7, "text": "x"}', Row("7", "x")),
        (b'{"user": 7.5, "text": "x"}', Row("7.5", "x")),
        (b'{"user": true, "text": "x"}', Row("True", "x")),
        (b'{"user": null, "text": "x"}', Row(None, "x")),
        (b'{"user": NaN, "text": "x"}', Row(None, "x")),
        (b'{"text": "x"}', Row(None, "x")),
        (b'{"user": "b"}', Row("b", None)),
        (b'{"user": "b", "text": null}', Row("b", None)),
        (b'{"user": "b", "text": ""}', Row("b", "")),
    ],
)
def test_a_line_that_is_not_plain(tmp_path, line, row):
    ann = Row("ann", "hello")
    assert rows_of(tmp_path, GOOD + line + b"\n" + GOOD) == [ann, row, ann]


def test_blank_lines_and_byte_order_mark_are_skipped(tmp_path):
    content = b"\xef\xbb\xbf" + GOOD + b"\n \r\n" + GOOD.rstrip()
    assert rows_of(tmp_path, content) == [Row("ann", "hello")] * 2


def test_an_empty_file_has_no_rows(tmp_path):
    for name in ("a.jsonl", "a.jsonl.gz", "a.jsonl.zst"):
        assert rows_of(tmp_path, b"", name) == []


def test_columns_are_chosen(tmp_path):
    content = b'{"who": "ann", "what": "hi", "user": "no"}'
    assert rows_of(tmp_path, content, columns=InputSettings("who", "what")) == [Row("ann", "hi")]


@pytest.mark.parametrize("missing", ["user", "text"])
def test_a_missing_column_is_named_with_the_keys(tmp_path, missing):
    record = {"user": "secretuser", "text": "secrettext", "id": "x", "no name but a sentence": 1}
    del record[missing]
    with pytest.raises(LeakscopeError) as caught:
        rows_of(tmp_path, b"junk\n" + json.dumps(record).encode())
    kept = "text" if missing == "user" else "user"
    assert f'has no column "{missing}" but {kept}, id, 1 not shown' in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("size", [len(GOOD) - 1, len(GOOD), len(GOOD) + 1])
def test_a_line_over_the_limit_is_set_aside(tmp_path, monkeypatch, size):
    monkeypatch.setattr(byte_lines, "MAX_RECORD", size)
    long = b'{"user": "b", "text": "' + b"x" * 5 * size + b'"}\n'
    ann = Row("ann", "hello") if size >= len(GOOD) else Row(None, None, TOO_LONG)
    assert rows_of(tmp_path, GOOD + long + GOOD) == [ann, Row(None, None, TOO_LONG), ann]


def test_compressed_files_read_as_plain_ones(tmp_path):
    plain = rows_of(tmp_path, LINES)
    assert len(plain) == 2000
    half = LINES.index(b"u1000")
    long = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=31, enable_ldm=True)
    )
    frames = long.compress(LINES[:half]) + b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    stream = zstandard.ZstdCompressor().compressobj()  # a frame that does not state its size
    frames += stream.compress(LINES[half:]) + stream.flush()
    assert rows_of(tmp_path, gzip.compress(LINES), "data.jsonl.gz") == plain
    assert rows_of(tmp_path, frames, "data.jsonl.zst") == plain
    assert rows_of(tmp_path, frames, "no_suffix") == plain
    assert rows_of(tmp_path, gzip.compress(LINES), "no_suffix") == plain


def test_a_large_zstd_window_is_accepted(tmp_path):
    """zstandard refuses windows over 128 MiB unless told otherwise."""
    magic, window_2gib = b"\x28\xb5\x2f\xfd", bytes([0, (31 - 10) << 3])
    raw_block = (len(GOOD) << 3 | 1).to_bytes(3, "little") + GOOD
    assert rows_of(tmp_path, magic + window_2gib + raw_block, "a.zst") == [Row("ann", "hello")]


@pytest.mark.parametrize("cut", [3, 20, -5, -1])
@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_truncated_file_is_an_error(tmp_path, suffix, cut):
    compress = gzip.compress if suffix == "gz" else zstandard.compress
    with pytest.raises(LeakscopeError, match="cut short"):
        rows_of(tmp_path, compress(LINES)[:cut], f"data.jsonl.{suffix}")


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_a_file_that_is_not_compressed_as_it_says_is_an_error(tmp_path, suffix):
    with pytest.raises(LeakscopeError, match="damaged"):
        rows_of(tmp_path, GOOD, f"data.jsonl.{suffix}")


words = st.text(st.characters(exclude_categories=["Cs"]))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.none() | words, st.none() | words), max_size=5), st.booleans())
def test_round_trip(documents, ascii_only):
    rows = [json.dumps({"user": u, "text": t}, ensure_ascii=ascii_only) for u, t in documents]
    with tempfile.TemporaryDirectory() as folder:
        assert rows_of(Path(folder), "\n".join(rows).encode()) == [Row(*d) for d in documents]
