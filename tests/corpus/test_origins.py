"""Where documents come from: kept through build, spilling, cleaning and planting, and checked."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leakscope.canaries.canary_settings import PlantSettings
from leakscope.commands.canary_plant import plant
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build, build_rows
from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.cleaning.cleaner import clean
from leakscope.corpus.document_lookup import find_documents
from leakscope.corpus.manifest import OriginFile
from leakscope.corpus.readers.detect import read
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import Origin, Row
from leakscope.corpus.shard_origins import origin_names
from leakscope.corpus.split import ALL
from leakscope.corpus.store import Corpus
from leakscope.records.errors import LeakscopeError

BEFORE = Path(__file__).parents[1] / "records" / "before" / "corpus-without-origins"
MAIL = (
    "From x\nFrom: ann@x.org\n\nfirst letter\n\n"
    "From x\nSubject: nobody sent this\n\nlost\n\n"
    "From x\nFrom: bob@x.org\n\nthird letter\n"
)


def found(corpus):
    """All documents, with their texts."""
    numbers = list(range(corpus.counts(ALL).documents))
    return list(find_documents(corpus, numbers, texts=True))


def inputs(folder):
    """A file of each kind, with records that are set aside and lines that are no records."""
    folder.mkdir()
    (folder / "chat.jsonl").write_text(
        '{"user": "ann", "text": "one a"}\n\nnot json\n{"user": "bob", "text": "one d"}\n'
    )
    (folder / "chat.csv").write_text('user,text\nann,"two\nlines"\n\n,nobody\ncid,two c\n')
    table = pa.table({"user": ["bob", None, "ann"], "text": ["three a", "three b", "three c"]})
    pq.write_table(table, folder / "chat.parquet")
    (folder / "chat.mbox").write_text(MAIL)
    return [folder / f"chat.{ending}" for ending in ("jsonl", "csv", "parquet", "mbox")]


def test_every_document_names_the_record_that_it_was(tmp_path):
    paths = inputs(tmp_path / "in")
    corpus = build(paths, tmp_path / "c", settings=BuildSettings(validation=0.3))
    said = {path.name: list(read(path, InputSettings())) for path in paths}
    documents = found(corpus)
    assert len(documents) == 8 and {each.file for each in documents} == set(said)
    keys = {user: key for shard in corpus.shards for user, key in shard.user_keys().items()}
    for each in documents:
        row = said[each.file][each.row - 1]
        assert (row.user, row.text) == (keys[each.user], each.text)
    assert {each.row for each in documents if each.file == "chat.mbox"} == {1, 3}
    assert [file.digest for file in corpus.manifest.origins] == [
        given.digest for given in corpus.manifest.inputs
    ]
    assert "/" not in "".join(file.name for file in corpus.manifest.origins)


def test_origins_are_no_part_of_what_a_corpus_is(tmp_path):
    (source,) = inputs(tmp_path / "in")[:1]
    other = source.with_name("renamed.jsonl")
    shutil.copy(source, other)
    first, second, again = (
        build(path, tmp_path / name, settings=BuildSettings(validation=0))
        for path, name in ((source, "a"), (other, "b"), (source, "c"))
    )
    assert first.manifest.digest == second.manifest.digest
    assert [each.file for each in found(first)] != [each.file for each in found(second)]
    shards = [(each.path / "shards" / "00000.parquet").read_bytes() for each in (first, again)]
    assert shards[0] == shards[1]


def test_cleaning_keeps_origins_and_their_files(tmp_path):
    corpus = build(inputs(tmp_path / "in"), tmp_path / "c", settings=BuildSettings(validation=0.3))
    clean(corpus, tmp_path / "d", CleanSettings(min_users=2))
    clean(Corpus.open(tmp_path / "d"), tmp_path / "e", CleanSettings(scrub=("email",)))
    cleaned = Corpus.open(tmp_path / "e")
    places = [[(each.file, each.row, each.split) for each in found(c)] for c in (corpus, cleaned)]
    assert places[0] == places[1]
    assert cleaned.manifest.origins == corpus.manifest.origins
    assert [each.format for each in cleaned.manifest.inputs] == ["corpus"]


@pytest.mark.parametrize("from_corpus", [True, False])
def test_planted_rows_come_from_the_planted_file(tmp_path, from_corpus):
    source = tmp_path / "chat.jsonl"
    lines = [{"user": f"u{i % 5}", "text": f"some plain words of {i}"} for i in range(40)]
    lines.insert(3, {"user": None, "text": "set aside"})
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    corpus = build(source, tmp_path / "c", settings=BuildSettings(validation=0))
    given = corpus.path if from_corpus else source
    options = {} if from_corpus else {"validation": 0.0}
    made = plant(given, tmp_path / "p", PlantSettings(schedule="1,3", controls=2), **options)
    planted = Corpus.open(tmp_path / "p" / "corpus")
    written = [json.loads(line) for line in (tmp_path / "p" / made.rows).read_text().splitlines()]
    secret = {each.text for each in made.canaries if each.state == "planted"}
    documents = found(planted)
    assert {each.file for each in documents} == {"chat.jsonl", "planted.jsonl"}
    for each in documents:
        rows = written if each.file == "planted.jsonl" else lines
        assert rows[each.row - 1]["text"] == each.text
        assert (each.text in secret) == (each.file == "planted.jsonl")


def test_a_corpus_without_origins_says_so(tmp_path):
    """It was written by an earlier version."""
    shutil.copytree(BEFORE, tmp_path / "c")
    corpus = Corpus.open(tmp_path / "c")
    documents = found(corpus)
    assert len(documents) == 6 and {(each.file, each.row) for each in documents} == {(None, None)}
    clean(corpus, tmp_path / "d", CleanSettings(documents="exact"))
    cleaned = Corpus.open(tmp_path / "d")
    assert len(found(cleaned)) == 5 and cleaned.manifest.origins == []
    assert corpus.shards[0].origins().of(0) is None is cleaned.shards[0].origins().of(0)


def test_rows_without_an_origin_have_none(tmp_path):
    rows = [Row("ann", "a b", origin=Origin(0, 9)), Row("bob", "b c")]
    files = [OriginFile(name="chat.jsonl")]
    corpus = build_rows(rows, tmp_path / "c", origins=files, settings=BuildSettings(validation=0))
    assert sorted((each.text, each.file, each.row) for each in found(corpus)) == [
        ("a b", "chat.jsonl", 9),
        ("b c", None, None),
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"input": 1}, "files that the manifest does not list"),
        ({"input": -2}, "files that the manifest does not list"),
        ({"row": -1}, "half an origin"),
        ({"row": None}, "half an origin"),
        ({"input": None}, "half an origin"),
    ],
)
def test_origins_that_cannot_be_are_found(tmp_path, change, says):
    rows = [Row("ann", "a b", origin=Origin(0, 1)), Row("bob", "b c", origin=Origin(0, 2))]
    files = [OriginFile(name="chat.jsonl")]
    build_rows(rows, tmp_path / "c", origins=files, settings=BuildSettings(validation=0))
    shard = tmp_path / "c" / "shards" / "00000.parquet"
    table = pq.read_table(shard)
    for name, value in change.items():
        at = table.schema.get_field_index(name)
        column = pa.array([value, *table[name].to_pylist()[1:]], table.schema.field(name).type)
        table = table.set_column(at, table.schema.field(name), column)
    pq.write_table(table, shard)
    for name in ("seal.txt", "manifest.json"):
        path = tmp_path / "c" / name
        if name == "seal.txt":
            path.unlink()
        else:
            path.write_text(path.read_text().replace('"sealed": true', '"sealed": false'))
    with pytest.raises(LeakscopeError, match=says):
        found(Corpus.open(tmp_path / "c"))


def test_files_of_one_name_are_told_apart():
    files = [OriginFile(name=name) for name in ("a.jsonl", "b.jsonl", "a.jsonl")]
    assert origin_names(files) == ["a.jsonl (input 1)", "b.jsonl", "a.jsonl (input 3)"]
