"""Joining files is writing them by one writer, to the byte; whoever reads the result finds all."""

import contextlib
import math

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.records.artifacts import parquet_sink
from leakscope.records.errors import LeakscopeError
from leakscope.records.tables import compact_thrift as thrift
from leakscope.records.tables.parquet_joining import join_parquet

SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("short", pa.int32()),
        ("share", pa.float32()),
        ("mark", pa.bool_()),
        ("word", pa.string()),
        ("logs", pa.list_(pa.float32())),
        ("words", pa.list_(pa.list_(pa.string()))),
    ]
)
numbers = st.floats(width=32, allow_nan=False)
rows = st.fixed_dictionaries(
    {
        "number": st.none() | st.integers(-(2**63), 2**63 - 1),
        "short": st.integers(-5, 5),
        "share": st.none() | numbers,
        "mark": st.none() | st.booleans(),
        "word": st.none() | st.text(max_size=3),
        "logs": st.none() | st.lists(st.none() | numbers, max_size=3),
        "words": st.none() | st.lists(st.lists(st.sampled_from(["a", "東", ""])), max_size=2),
    }
)
# A file for each part, with a list of rows for each row group.
files = st.lists(st.lists(st.lists(rows, max_size=4), max_size=3), min_size=1, max_size=5)


def written(path, groups, sealed=False, schema=SCHEMA, **options):
    with parquet_sink(path, schema, sealed=sealed, options=options) as writer:
        for group in groups:
            writer.write_table(pa.Table.from_pylist(group, schema))
    return path


def parts_of(folder, parts):
    return [written(folder / f"part-{i}", part, sealed=True) for i, part in enumerate(parts)]


@settings(max_examples=25)  # each writes files, and waits for the disk
@given(parts=files)
def test_it_is_what_one_writer_writes(tmp_path, parts):
    plain = written(tmp_path / "plain", [group for part in parts for group in part])
    joined = tmp_path / "joined"
    join_parquet(parts_of(tmp_path, parts), joined)
    assert joined.read_bytes() == plain.read_bytes()
    assert joined.stat().st_mode & 0o777 == 0o600


def rows_of_groups(count):
    """Enough for several pages and dictionaries that overflow."""
    return [
        [
            {
                "number": i * 7919 % 10**12,
                "short": i % 3,
                "share": math.sin(i),
                "mark": i % 2 == 0,
                "word": f"w{i % 500}",
                "logs": [math.cos(i + j) for j in range(i % 4)],
                "words": [["a"] * (i % 3)] if i % 5 else None,
            }
            for i in range(group * 3000, group * 3000 + 3000)
        ]
        for group in range(count)
    ]


def test_whoever_reads_it_finds_all(tmp_path):
    groups = rows_of_groups(40)
    parts = [written(tmp_path / f"part-{i}", [g], sealed=True) for i, g in enumerate(groups)]
    joined = tmp_path / "joined.parquet"
    join_parquet(parts, joined)
    every = pa.concat_tables([pa.Table.from_pylist(group, SCHEMA) for group in groups])
    file = pq.ParquetFile(joined, page_checksum_verification=True)
    assert file.num_row_groups == 40
    assert file.read().equals(every)
    assert file.read_row_group(17).equals(every.slice(17 * 3000, 3000))
    assert pl.read_parquet(joined).to_arrow().cast(SCHEMA).equals(every)
    wanted = sum(row["number"] for group in groups for row in group if row["short"] == 1)
    asked = f"SELECT sum(number), count(*), max(words) FROM '{joined}' WHERE short = 1"
    total, size, _ = duckdb.sql(asked).fetchall()[0]
    assert (total, size) == (wanted, 40_000)
    lazily = pl.scan_parquet(joined).filter(pl.col("short") == 1)
    assert lazily.select("number").collect()["number"].sum() == wanted


def test_a_flip_in_a_page_is_noticed_by_its_checksum(tmp_path):
    parts = parts_of(tmp_path, [[group] for group in rows_of_groups(3)])
    joined = tmp_path / "joined.parquet"
    join_parquet(parts, joined)
    content = bytearray(joined.read_bytes())
    place = pq.ParquetFile(joined).metadata.row_group(1).column(0).data_page_offset + 200
    content[place] ^= 4
    joined.write_bytes(content)
    with pytest.raises(OSError, match="CRC"):
        pq.ParquetFile(joined, page_checksum_verification=True).read()


@pytest.mark.parametrize("place", [0, 9, 300, -200, -6, -1])
def test_a_part_must_be_what_its_seal_says(tmp_path, place):
    parts = parts_of(tmp_path, [[group] for group in rows_of_groups(2)])
    content = bytearray(parts[1].read_bytes())
    content[place] ^= 1
    parts[1].write_bytes(content)
    with pytest.raises(LeakscopeError, match="damaged"):
        join_parquet(parts, tmp_path / "joined")
    assert not (tmp_path / "joined").exists()


@pytest.mark.parametrize("damage", ["cut", "empty", "gone", "unsealed"])
def test_a_part_must_be_there(tmp_path, damage):
    parts = parts_of(tmp_path, [[group] for group in rows_of_groups(2)])
    if damage == "gone":
        parts[0].unlink()
    elif damage == "unsealed":
        parts[0].with_name(parts[0].name + ".seal").unlink()
    else:
        parts[0].write_bytes(parts[0].read_bytes()[:-7] if damage == "cut" else b"")
    with pytest.raises(LeakscopeError, match=r"damaged|missing"):
        join_parquet(parts, tmp_path / "joined")
    assert {each.name for each in tmp_path.iterdir()} >= {"part-1"}
    assert not [each for each in tmp_path.iterdir() if "joined" in each.name]


def test_what_cannot_be_joined_is_refused(tmp_path):
    other = pa.schema([("number", pa.int64())])
    parts = [
        written(tmp_path / "one", [[{"number": 1}]], sealed=True, schema=other),
        written(tmp_path / "two", [[{"number": 1}]], sealed=True),
    ]
    with pytest.raises(ValueError, match="one schema"):
        join_parquet(parts, tmp_path / "joined")
    with pytest.raises(ValueError, match="nothing"):
        join_parquet([], tmp_path / "joined")
    indexed = written(
        tmp_path / "three", [[{"number": 1}]], sealed=True, schema=other, write_page_index=True
    )
    with pytest.raises(ValueError, match="indexes"):
        join_parquet([indexed, indexed], tmp_path / "joined")


values = st.deferred(
    lambda: st.one_of(
        st.sampled_from([thrift.Value(thrift.TRUE, None), thrift.Value(thrift.FALSE, None)]),
        st.builds(
            thrift.Value,
            st.sampled_from([thrift.I16, thrift.I32, thrift.I64]),
            st.integers(-(2**63), 2**63 - 1),
        ),
        st.builds(thrift.Value, st.just(thrift.BYTE), st.integers(0, 255)),
        st.builds(thrift.Value, st.just(thrift.DOUBLE), st.floats(allow_nan=False)),
        st.builds(thrift.Value, st.just(thrift.BINARY), st.binary(max_size=200)),
        st.builds(thrift.Value, st.just(thrift.STRUCT), structs),
        st.builds(
            thrift.Value,
            st.just(thrift.LIST),
            st.builds(
                thrift.Elements, st.just(thrift.I32), st.lists(st.integers(-9, 9), max_size=40)
            ),
        ),
        st.builds(
            thrift.Value,
            st.just(thrift.LIST),
            st.builds(thrift.Elements, st.just(thrift.STRUCT), st.lists(structs, max_size=20)),
        ),
    )
)
structs = st.dictionaries(st.integers(1, 3000), values, max_size=4)


@given(fields=structs)
def test_what_is_encoded_is_decoded(fields):
    content = thrift.encoded(fields)
    assert thrift.decoded(content) == fields
    assert thrift.encoded(thrift.decoded(content)) == content


@given(content=st.binary(max_size=60))
def test_other_bytes_are_refused_or_read(content):
    with contextlib.suppress(ValueError):
        thrift.decoded(content)


def test_the_footers_of_pyarrow_come_back_byte_for_byte(tmp_path):
    path = written(tmp_path / "plain", rows_of_groups(20))
    content = path.read_bytes()
    footer = content[-8 - int.from_bytes(content[-8:-4], "little") : -8]
    assert thrift.encoded(thrift.decoded(footer)) == footer
