"""Lexicons of pieces as one: in few buckets or many the same, as plain code has it, in little
memory.
"""

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus.building.lexicon_kernels import merge_some
from leakscope.corpus.building.lexicon_merge import merge_lexicons
from leakscope.corpus.building.number_stage import WORDS, lexicon_part
from leakscope.corpus.building.user_pieces import UserPiece
from leakscope.corpus.building.word_runs import TYPE_BYTES
from leakscope.corpus.lexicon import words_digest
from leakscope.corpus.parts.part_files import part_sink

TESTS = Path(__file__).parents[2]
words = st.text(st.sampled_from("abé東\U00010400"), min_size=1, max_size=3)
pieces = st.lists(
    st.tuples(
        st.dictionaries(words, st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=30),
        st.sampled_from([None, None, 7, 8]),
    ),
    min_size=1,
    max_size=6,
)


def write_part(path, said):
    columns = [
        pa.array([word.encode() for word in said], pa.large_binary()),
        *(pa.array([each[column] for each in said.values()], pa.int64()) for column in range(2)),
    ]
    with part_sink(lexicon_part(path), WORDS) as write:
        write(pa.RecordBatch.from_arrays(columns, schema=WORDS))


def plainly(given_pieces, order):
    """[(word, count, users)] in the order of the lexicon."""
    counts, users, owned = {}, {}, {}
    for said, giant in given_pieces:
        for word, (count, owners) in said.items():
            counts[word] = counts.get(word, 0) + count
            counted_before = giant is not None and owned.get(word) == giant
            users[word] = users.get(word, 0) + (0 if counted_before else owners)
            if giant is not None and owners:
                owned[word] = giant
    first, second = (users, counts) if order == "users" else (counts, users)
    ranked = sorted(counts, key=lambda word: (-first[word], -second[word], word))
    return [(word, counts[word], users[word]) for word in ranked]


@settings(max_examples=60)
@given(pieces, st.sampled_from(["frequency", "users"]), st.sampled_from([1, 3, 10, 10**6]))
def test_any_number_of_buckets_gives_the_plain_lexicon(given_pieces, order, at_a_time):
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / f"{number}.arrow" for number in range(len(given_pieces))]
        for path, (said, _) in zip(paths, given_pieces, strict=True):
            write_part(path, said)
        plan = [UserPiece((), giant, 0) for _, giant in given_pieces]
        target = folder / "lexicon.parquet"
        made = merge_lexicons(paths, plan, order, target, at_a_time * 4 * TYPE_BYTES)
        expected = plainly(given_pieces, order)
        if expected:
            rows = pq.read_table(target).to_pylist()
            assert [(row["word"], row["count"], row["users"]) for row in rows] == expected
            assert [row["id"] for row in rows] == list(range(len(expected)))
        ids = {word: id for id, (word, _, _) in enumerate(expected)}
        assert made.size == len(expected)
        assert made.digest == words_digest([word for word, _, _ in expected])
        for (said, _), final in zip(given_pieces, made.final, strict=True):
            assert final.tolist() == [ids[word] for word in said]


rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.binary(max_size=3)), max_size=40)


@given(st.lists(rows, min_size=1, max_size=5), st.integers(1, 7))
def test_sorted_runs_are_merged_in_their_order(runs, at_a_time):
    def key(row):
        return (-row[0], -row[1], row[2])

    listed = [sorted(run, key=key) for run in runs]
    flat = [row for run in listed for row in run]
    first, second = (np.array([row[column] for row in flat], np.int64) for column in range(2))
    data = np.frombuffer(b"".join(row[2] for row in flat), np.uint8)
    offsets = np.cumsum([0, *(len(row[2]) for row in flat)]).astype(np.int64)
    edges = np.cumsum([0, *map(len, listed)])
    heads = np.array(list(pairwise(edges)), np.int64)
    found, block = [], np.empty(at_a_time, np.int64)
    while size := merge_some(heads, first, second, data, offsets, block):
        found += block[:size].tolist()
    assert sorted(found) == list(range(len(flat)))
    assert [flat[row] for row in found] == sorted(flat, key=key)


_CHILD = """
import sys
from pathlib import Path
import numpy as np
import pyarrow as pa
from leakscope.corpus.building.lexicon_merge import merge_lexicons
from leakscope.corpus.building.number_stage import WORDS, lexicon_part
from leakscope.corpus.building.user_pieces import UserPiece
from leakscope.corpus.parts.part_files import part_sink
from peak_memory import growth_of
folder, each, memory = Path(sys.argv[1]), 500_000, int(sys.argv[2])

def merge(numbers, target):
    paths = []
    for number in numbers:
        paths.append(folder / f"{number}.arrow")
        words = np.char.mod("w%08d", np.arange(number * each, (number + 1) * each)).tolist()
        ones = pa.array(np.ones(each, np.int64))
        columns = [pa.array(words, pa.large_binary()), ones, ones]
        with part_sink(lexicon_part(paths[-1]), WORDS) as write:
            write(pa.RecordBatch.from_arrays(columns, schema=WORDS))
        del words, columns
    plan = [UserPiece((), None, 0) for _ in paths]
    return lambda: merge_lexicons(paths, plan, "frequency", target, memory)

merge([0], folder / "small.parquet")()  # the code is in memory
print(growth_of(merge(range(6), folder / "lexicon.parquet")))
"""


def test_memory_is_bounded(tmp_path):
    """Three million words, which all together would take over 100 bytes each."""
    ran = subprocess.run(
        [sys.executable, "-c", _CHILD, str(tmp_path), "400000000"],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": os.pathsep.join([str(TESTS / "support"), *sys.path])},
    )
    assert int(ran.stdout) < 200_000_000
