"""Words of a column, against a list of them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.corpus import column_words, lexicon
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.column_words import ColumnWords, WordColumn
from leakscope.corpus.lexicon import Lexicon, lexicon_table, words_digest
from leakscope.corpus.readers.rows import Row
from leakscope.records.errors import LeakscopeError
from peak_memory import growth_of

words = st.lists(st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1))
places = st.none() | st.integers(-9, 9)


@given(words, st.builds(slice, places, places, st.sampled_from([None, 1, 2, -1])))
def test_a_column_reads_as_a_list(listed, some):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(column_words, "_BLOCK", 3)
        patch.setattr(lexicon, "_BLOCK", 2)
        column = ColumnWords(pa.array(listed, pa.large_string()))
        assert list(column) == listed
        assert len(column) == len(listed)
        assert column[some] == listed[some]
        assert [column[place] for place in range(-len(listed), len(listed))] == listed + listed
        assert words_digest(column) == words_digest(listed)
    assert words_digest(column) == words_digest(listed)
    for place in (len(listed), -len(listed) - 1):
        with pytest.raises(IndexError):
            column[place]


def test_a_large_lexicon_is_the_same_as_a_column(tmp_path, monkeypatch):
    made = build_rows([Row("ann", "the cat saw the dog, naïve")], tmp_path / "c")
    path = made.path / "lexicon.parquet"
    listed = Lexicon.load(path)
    monkeypatch.setattr(lexicon, "LISTED", 2)
    column = Lexicon.load(path)
    assert isinstance(column.words, ColumnWords)
    assert list(column.words) == listed.words
    assert (column.digest, column.ids) == (listed.digest, listed.ids)
    assert (column.counts.tolist(), column.users.tolist()) == (
        listed.counts.tolist(),
        listed.users.tolist(),
    )
    assert pa.array(column.words, pa.string()).equals(pa.array(listed.words, pa.string()))


@given(st.lists(words, max_size=4), st.integers(0, 3))
def test_a_column_in_files_holds_what_was_appended(tmp_path_factory, blocks, cut):
    column = WordColumn(tmp_path_factory.getbasetemp())
    for block in blocks:
        column.append(pa.array(block, pa.large_string()).slice(cut))
    found = column.mapped()
    found.validate(full=True)
    assert found.to_pylist() == [word for block in blocks for word in block[cut:]]


def test_a_large_lexicon_is_not_held_in_memory(tmp_path, monkeypatch):
    size, path = 1_500_000, tmp_path / "lexicon.parquet"
    column = pa.array([f"word-{number}-of-many" for number in range(size)], pa.large_string())
    ones = np.ones(size, np.int64)
    pq.write_table(lexicon_table(column, ones, ones), path, row_group_size=50_000)
    monkeypatch.setattr(lexicon, "LISTED", 60_000)
    loaded = []
    grown = growth_of(lambda: loaded.append(Lexicon.load(path)))
    assert loaded[0].words[size - 1] == column[size - 1].as_py()
    assert grown < 30 * size  # of over 50 bytes a word, some of them twice


def test_a_column_of_invalid_words_is_damaged(tmp_path, monkeypatch):
    bad = pa.array([b"ok", b"\xff"], pa.large_binary()).view(pa.large_string())
    table = pa.table({"id": pa.array([0, 1], pa.int32()), "word": bad, "count": [1, 1]})
    pq.write_table(table.append_column("users", pa.array([1, 1])), tmp_path / "lexicon.parquet")
    monkeypatch.setattr(lexicon, "LISTED", 1)
    with pytest.raises(LeakscopeError, match="damaged"):
        Lexicon.load(tmp_path / "lexicon.parquet")
