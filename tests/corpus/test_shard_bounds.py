"""A corpus whose files contradict each other is refused before compiled code sees its numbers."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leakscope.corpus.store import Corpus
from leakscope.leakage.pipeline import audit
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from resealed import reseal
from small_models import repeated_by, sharp_model
from subjects import subject_of

WORDS = ["a", "b", "c", "d", "e", "f", "g"]


@pytest.fixture
def corpus(make_corpus):
    """Several shards of several users, with a validation part."""
    rows = repeated_by(sharp_model("gru", WORDS, 3), 9, 60, 12)
    made = make_corpus(rows, validation=0.2, shard_words=150)
    assert len(made.shards) > 2
    return made


def edit_manifest(corpus, **changes):
    path = corpus.path / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    reseal(corpus.path)


def edit_column(path, name, change):
    """Rewrite a column of a Parquet file; checksums, footer and seal are those of an honest one."""
    table = pq.read_table(path)
    place = table.schema.get_field_index(name)
    column = pa.array(change(table[name].to_pylist()), table.schema.field(name).type)
    pq.write_table(table.set_column(place, table.schema.field(name), column), path)
    reseal(path.parent.parent if path.parent.name == "shards" else path.parent)


def read_all(path):
    corpus = Corpus.open(path)
    for split in ("train", "validation"):
        list(corpus.documents(split, texts=True))
    for shard in corpus.shards:
        shard.user_keys()
    return corpus.lexicon


def refused(corpus, file):
    """The sentence with which the corpus is refused; it names `file`."""
    with pytest.raises(LeakscopeError) as raised:
        read_all(corpus.path)
    said = str(raised.value)
    assert str(corpus.path / file) in said and said.endswith("again.") and "\n" not in said
    return said


def test_an_honest_corpus_is_read(corpus):
    assert len(read_all(corpus.path)) == corpus.manifest.lexicon


def test_a_report_refuses_a_lexicon_that_is_said_to_be_smaller(corpus, tmp_path):
    edit_manifest(corpus, lexicon=3)
    with pytest.raises(LeakscopeError, match="another number of words"):
        opened = Corpus.open(corpus.path)
        model = sharp_model("gru", WORDS, 3)
        subject = subject_of(lambda: model.reading(opened.lexicon))
        audit(subject, opened, tmp_path / "run", ReportSettings(top_k=2))


@pytest.mark.parametrize(
    "changes",
    [
        {"lexicon": 3},
        {"lexicon": 10**9},
        {"users": 2},
        {"users": -1},
        {"users": 10**15},
        {"train": {"users": 1, "documents": 1, "words": 1}},
        {"validation": {"users": 1, "documents": 0, "words": 0}},
    ],
    ids=str,
)
def test_numbers_of_the_manifest_are_those_of_the_files(corpus, changes):
    edit_manifest(corpus, **changes)
    refused(corpus, "manifest.json")


def test_words_of_a_split_are_as_many_as_the_manifest_says(corpus, tmp_path):
    counts = corpus.manifest.train.model_dump()
    edit_manifest(corpus, train=counts | {"words": counts["words"] + 1})
    refused(corpus, "manifest.json")
    opened, model = Corpus.open(corpus.path), sharp_model("gru", WORDS, 3)
    subject = subject_of(lambda: model.reading(opened.lexicon))
    with pytest.raises(LeakscopeError, match="train documents or words"):
        audit(subject, opened, tmp_path / "run", ReportSettings(top_k=2))


@pytest.mark.parametrize("name", ["../../x.parquet", "/etc/passwd", "..", "", "a\\..\\b", "a\0b"])
def test_shards_are_named_inside_the_corpus(corpus, name):
    edit_manifest(corpus, shards=[name, *corpus.manifest.shards[1:]])
    assert "not in the corpus" in refused(corpus, "manifest.json")


def test_a_shard_is_no_link_that_leads_out(corpus, tmp_path):
    first = corpus.shards[0].path
    outside = tmp_path / "outside.parquet"
    shutil.move(first, outside)
    first.symlink_to(outside)
    assert "not in the corpus" in refused(corpus, "manifest.json")


def test_a_shard_counts_once_and_in_its_place(corpus):
    names = corpus.manifest.shards
    edit_manifest(corpus, shards=[names[0], *names])
    assert "the shard before" in refused(corpus, f"shards/{names[0]}")
    edit_manifest(corpus, shards=names[::-1])
    refused(corpus, f"shards/{names[-2]}")
    edit_manifest(corpus, shards=names[:-1])
    refused(corpus, "manifest.json")


def first_word(value):
    return lambda lists: [[value, *lists[0][1:]], *lists[1:]]


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("words", first_word(7)),
        ("words", first_word(2**31 - 1)),
        ("words", first_word(-1)),
        ("words", first_word(None)),
        ("words", lambda lists: [None, *lists[1:]]),
        ("user", lambda users: [users[0] - 1, *users[1:]]),
        ("user", lambda users: [None, *users[1:]]),
        ("user", lambda users: users[::-1]),
        ("user", lambda users: [*users[:-1], users[-1] + 1]),
        ("document", lambda numbers: numbers[::-1]),
        ("document", lambda numbers: [numbers[0]] * len(numbers)),
        ("document", lambda numbers: [-5, *numbers[1:]]),
        ("document", lambda numbers: [*numbers[:-1], 10**12]),
        ("split", lambda splits: ["test", *splits[1:]]),
        ("user_key", lambda keys: ["another", *keys[1:]]),
        ("user_key", lambda keys: [None] * len(keys)),
        ("text", lambda texts: [None, *texts[1:]]),
    ],
)
@pytest.mark.parametrize("split", ["train", "validation"])
def test_a_shard_is_held_to_lexicon_manifest_and_order(corpus, column, change, split):
    shard = corpus.shards[1].path
    table = pq.read_table(shard)
    # The first row is of the split, so that each split's reader must notice by itself.
    pq.write_table(table.set_column(3, "split", pa.array([split] * len(table))), shard)
    corpus.__dict__.pop("shards", None)
    edit_column(shard, column, change)
    with pytest.raises(LeakscopeError) as raised:
        opened = Corpus.open(corpus.path)
        list(opened.shards[1].documents(split, texts=True))
        list(opened.shards[2].documents(split, texts=True))
        opened.shards[1].user_keys()
    assert str(corpus.path) in str(raised.value)


def test_columns_are_of_their_kinds(corpus):
    shard = corpus.shards[0].path
    table = pq.read_table(shard)
    wide = table["user"].to_numpy().astype(np.int64) + 2**32  # would wrap to the right users
    pq.write_table(table.set_column(0, "user", pa.array(wide)), shard)
    reseal(corpus.path)
    assert '"user"' in refused(corpus, "shards/00000.parquet")
    pq.write_table(table.drop_columns(["words"]), shard)
    reseal(corpus.path)
    assert '"words"' in refused(corpus, "shards/00000.parquet")


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("id", lambda ids: ids[::-1]),
        ("id", lambda ids: [None, *ids[1:]]),
        ("count", lambda counts: [-1, *counts[1:]]),
        ("count", lambda counts: [None, *counts[1:]]),
        ("users", lambda users: [10**9, *users[1:]]),
        ("word", lambda words: [None, *words[1:]]),
        ("word", lambda words: words[::-1]),
    ],
)
def test_the_lexicon_is_held_to_itself(corpus, column, change):
    edit_column(corpus.path / "lexicon.parquet", column, change)
    refused(corpus, "lexicon.parquet")


def test_the_lexicon_has_all_its_columns(corpus):
    path = corpus.path / "lexicon.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["count"]), path)
    reseal(corpus.path)
    refused(corpus, "lexicon.parquet")
