"""Huge documents: the same corpus as of ordinary ones, in a few times their size of memory."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building import shard_stage
from leakscope.corpus.building.builder import build
from leakscope.corpus.parts import giant_texts, table_columns

TESTS = Path(__file__).parents[2]
texts = st.lists(st.sampled_from(["the", "İX", "ΟΔΟΣ", "東京", "...", "don't", "é"]), max_size=40)
tables = st.lists(st.tuples(st.sampled_from(["ann", "bob", "Ünal"]), texts), max_size=20)


class Small(BuildResources):
    """Pieces of a few hundred bytes."""

    run_bytes = 300
    piece_bytes = 200


def write(rows, folder, format):
    path = folder / f"rows.{format}"
    if format == "jsonl":
        lines = [json.dumps({"user": u, "text": t}, ensure_ascii=len(t) % 2 == 0) for u, t in rows]
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    else:
        columns = {"user": [u for u, _ in rows], "text": [t for _, t in rows]}
        pq.write_table(pa.table(columns), path, row_group_size=6)
    return path


def content(corpus):
    """All that the tables of a corpus hold, row group by row group."""
    found = {}
    for path in [corpus.path / "lexicon.parquet", *(shard.path for shard in corpus.shards)]:
        file = pq.ParquetFile(path)
        groups = [file.read_row_group(group).to_pylist() for group in range(file.num_row_groups)]
        found[path.name] = groups
    return found


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
@settings(max_examples=20)
@given(rows=tables, giant=st.sampled_from([60, 120]), lowercase=st.booleans())
def test_huge_documents_are_what_they_would_be_if_they_were_small(
    tmp_path_factory, format, rows, giant, lowercase
):
    folder = tmp_path_factory.mktemp("giants")
    rows = [("ann", "one to train on"), *((user, " ".join(said)) for user, said in rows)]
    path = write(rows, folder, format)
    how = BuildSettings(validation=0.0, shard_words=60, lowercase=lowercase)
    plain = build(path, folder / "plain", settings=how, resources=Small(threads=2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(giant_texts, "GIANT", giant)
        patch.setattr(table_columns, "_MUCH", 1)
        made = build(path, folder / "giants", settings=how, resources=Small(threads=2))
    assert content(made) == content(plain)
    assert made.manifest.model_copy(update={"sealed": False}) == plain.manifest.model_copy(
        update={"sealed": False}
    )


def test_a_shard_with_a_huge_document_is_written_without_copies(tmp_path, monkeypatch):
    path = write([("ann", "small"), ("bob", "huge " * 100), ("bob", "small")], tmp_path, "jsonl")
    monkeypatch.setattr(giant_texts, "GIANT", 400)
    made = build(
        path, tmp_path / "c", settings=BuildSettings(validation=0.0), resources=Small(threads=2)
    )
    column = pq.ParquetFile(made.shards[0].path).metadata.row_group(0).column(5)
    assert column.path_in_schema == "text"
    assert not column.has_dictionary_page
    assert column.statistics is None
    assert shard_stage.GIANT_OPTIONS["data_page_version"] == "2.0"


def test_a_line_may_be_as_long_as_the_documents_that_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(giant_texts, "MAX_RECORD", 200)
    monkeypatch.setattr(giant_texts, "GIANT", 200)
    path = write([("ann", "small"), ("bob", "huge " * 100)], tmp_path, "jsonl")
    none = BuildSettings(validation=0.0, max_characters=100)
    assert build(path, tmp_path / "c", settings=none).manifest.set_aside == {"too long": 1}
    more = BuildSettings(validation=0.0, max_characters=500)
    assert build(path, tmp_path / "d", settings=more).manifest.set_aside == {}


_CHILD = """
import sys
from pathlib import Path
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build
from leakscope.corpus.parts import giant_texts, table_columns
from peak_memory import growth_of
giant_texts.GIANT = 1 << 20
folder, format = Path(sys.argv[1]), sys.argv[2]
how = BuildSettings(max_characters=10**9, validation=0.0)
build(folder / f"small.{format}", folder / "small", settings=how)  # the code is in memory
print(growth_of(lambda: build(folder / f"large.{format}", folder / "large", settings=how)))
"""


@pytest.mark.parametrize(("format", "times"), [("jsonl", 4.0), ("parquet", 4.0)])
def test_a_huge_document_takes_a_few_times_its_size(tmp_path, format, times):
    size = 60_000_000
    text = ("some words of a text, as people write it; and more. " * (1 + size // 52))[:size]
    for name, long in (("small", text[: 3 << 20]), ("large", text)):
        rows = [*((f"u{n}", "an ordinary text") for n in range(20)), ("giant", long)]
        write(rows, tmp_path, format).rename(tmp_path / f"{name}.{format}")
    ran = subprocess.run(
        [sys.executable, "-c", _CHILD, str(tmp_path), format],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(TESTS / "support"), "PATH": "/usr/bin:/bin"},
    )
    assert int(ran.stdout) < times * size
