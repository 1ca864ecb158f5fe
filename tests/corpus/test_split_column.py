"""`corpus build --split-column`: the input says what was trained on."""

import csv
import json

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from leakscope.commands.corpus_build import build
from leakscope.commands.corpus_clean import clean
from leakscope.corpus.split import ALL, VALIDATION
from leakscope.corpus.store import Corpus
from leakscope.records.errors import LeakscopeError

ROWS = [
    {"user": "ann", "text": "the cat sat", "part": "train"},
    {"user": "ann", "text": "on the mat", "part": "Test"},
    {"user": "bob", "text": "a dog ran", "part": " training "},
    {"user": "bob", "text": "far far away from here", "part": "dev"},
    {"user": "bob", "text": "nobody knows", "part": "other"},
    {"user": "eve", "text": "nor this", "part": None},
]


def written(path, kind):
    if kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    elif kind == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            sheet = csv.DictWriter(file, ("part", "text", "user"))
            sheet.writeheader()
            sheet.writerows(ROWS)
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    else:
        pyarrow.feather.write_feather(pa.Table.from_pylist(ROWS), path)
    return path


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "arrow"])
def test_the_input_says_which_documents_are_held_out(tmp_path, kind):
    source = written(tmp_path / f"rows.{kind}", kind)
    made = build(source, tmp_path / "c", split_column="part")
    assert (made.train.documents, made.train.words) == (2, 6)
    assert (made.validation.documents, made.validation.words) == (2, 8)
    assert made.set_aside == {"unknown split": 2}
    assert made.split_given and made.says_what_was_trained_on
    corpus = Corpus.open(tmp_path / "c")
    held = [text for part in corpus.documents(VALIDATION, texts=True) for text in part.texts]
    assert sorted(held) == ["far far away from here", "on the mat"]
    everything = corpus.trained_on(ALL)
    assert len(everything.load()) == 4 and everything.counts().words == 14
    assert everything.counts().users == 2 and everything.held_out.documents == 0
    assert corpus.counts() == made.train and corpus.held_out == made.validation
    clean(tmp_path / "c", tmp_path / "clean", documents="exact")
    assert Corpus.open(tmp_path / "clean").manifest.split_given


def test_what_does_not_say_it(tmp_path):
    source = written(tmp_path / "rows.jsonl", "jsonl")
    drawn = build(source, tmp_path / "c", validation=0.5, seed=1)
    assert drawn.validation.documents and not drawn.says_what_was_trained_on
    whole = build(source, tmp_path / "c0", validation=0)
    assert whole.says_what_was_trained_on and not whole.split_given
    with pytest.raises(LeakscopeError, match="leave out --validation"):
        build(source, tmp_path / "x", split_column="part", validation=0.2)
    with pytest.raises(LeakscopeError, match=r'no column "fold" but .* with --split-column'):
        build(source, tmp_path / "x", split_column="fold")
    (tmp_path / "a.mbox").write_text("From ann\nFrom: ann@example.com\n\nhello there\n")
    with pytest.raises(LeakscopeError, match="read as mbox, which has no columns"):
        build(tmp_path / "a.mbox", tmp_path / "x", split_column="part")
    assert not (tmp_path / "x").exists()


def test_a_text_that_is_too_long_is_set_aside_also_where_the_split_is_given(tmp_path):
    source = tmp_path / "rows.jsonl"
    rows = [{**ROWS[0], "text": "word " * 50}, ROWS[0]]
    source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    made = build(source, tmp_path / "c", split_column="part", max_characters=100)
    assert made.set_aside == {"too long": 1} and made.train.documents == 1
