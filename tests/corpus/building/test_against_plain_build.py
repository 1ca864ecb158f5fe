"""The build, byte for byte against the plain reference, whatever the format, threads and pieces."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus import shard_schema
from leakscope.corpus.build_resources import BuildResources
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build, build_rows
from leakscope.corpus.building.word_runs import TYPE_BYTES
from leakscope.corpus.readers.detect import read_all
from leakscope.corpus.readers.input_settings import InputSettings
from plain_build import files_of, plain_build


class Small(BuildResources):
    """Pieces of a few hundred bytes, so that little text makes many of them."""

    run_bytes = 700
    piece_bytes = 900


class Tight(Small):
    """And with memory for five distinct words at a time."""

    bytes = 20 * TYPE_BYTES


users = st.sampled_from(["ann", "bob", "Ünal", "東", "u 1", "x" * 200]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=3
)
texts = st.lists(
    st.sampled_from(
        ["the", "The", "cat", "ΟΔΟΣ", "İ", "東京", "...", "don't", "e\u0301", "longer words"]
    ),
    max_size=12,
).map(" ".join) | st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
tables = st.lists(st.tuples(users, texts), min_size=1, max_size=60)
options = st.builds(
    BuildSettings,
    lowercase=st.booleans(),
    order=st.sampled_from(["frequency", "users"]),
    validation=st.sampled_from([0.0, 0.1, 0.4]),
    split_by=st.sampled_from(["document", "user"]),
    seed=st.integers(0, 3),
    max_characters=st.sampled_from([40, 10**6]),
    shard_words=st.sampled_from([1, 30, 10**6]),
)


def write(rows, folder, format):
    path = folder / f"rows.{format}"
    if format == "parquet":
        columns = {"user": [u for u, _ in rows], "text": [t for _, t in rows]}
        pq.write_table(pa.table(columns), path, row_group_size=7)
        return path
    lines = "".join(json.dumps({"user": u, "text": t}, ensure_ascii=False) + "\n" for u, t in rows)
    if format == "jsonl.gz":
        path.write_bytes(gzip.compress(lines.encode()))
    elif format == "jsonl.zst":
        path.write_bytes(zstandard.compress(lines.encode()))
    else:
        path.write_text(lines, encoding="utf-8", newline="")
    return path


def compare(made, paths, folder, how=None, input_settings=None):
    """The corpus `made` of the inputs against the reference."""
    rows = read_all(paths, input_settings or InputSettings())
    digest, lexicon, aside, parts, most = plain_build(rows, folder / "plain", how)
    assert files_of(made.path) == files_of(folder / "plain")
    said = made.manifest
    assert (said.digest, said.lexicon_digest, said.most_words) == (digest, lexicon, most)
    assert said.set_aside == dict(aside)
    for part in ("train", "validation"):
        counts = getattr(said, part)
        assert (counts.users, counts.documents, counts.words) == parts[part]


def trainable(path, how):
    """Whether a document is left to train on."""
    try:
        build(path, path.parent / "tried", settings=how)
    except Exception as error:
        assert "No document is left" in str(error)
        return False
    return True


@pytest.mark.parametrize("format", ["jsonl", "parquet", "jsonl.gz", "jsonl.zst"])
@settings(max_examples=25)
@given(rows=tables, how=options, resources=st.sampled_from([Small, Tight]))
def test_files_are_those_of_the_reference(tmp_path_factory, format, rows, how, resources):
    folder = tmp_path_factory.mktemp("build")
    path = write(rows, folder, format)
    if trainable(path, how):
        made = build(path, folder / "c", settings=how, resources=resources(threads=2))
        compare(made, [path], folder, how)


@pytest.mark.parametrize("resources", [Small, Tight])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_many_inputs_of_all_kinds_and_a_user_larger_than_a_piece(tmp_path, threads, resources):
    bot = [("bot", f"I am bot number {n} and say the same again") for n in range(300)]
    people = [(f"u{n % 40}", f"text {n} of u{n % 40} is mine: Σ{n}") for n in range(500)]
    mixed = [row for pair in zip(bot, people, strict=False) for row in pair]
    paths = [
        write(mixed, tmp_path, "parquet"),
        write(people[100:], tmp_path, "jsonl"),
        write(bot, tmp_path, "jsonl.gz"),
    ]
    how = BuildSettings(validation=0.2, shard_words=800, lowercase=True)
    made = build(paths, tmp_path / "c", settings=how, resources=resources(threads=threads))
    compare(made, paths, tmp_path, how)
    assert len(made.shards) > 3


def test_odd_lines_between_good_ones(tmp_path):
    lines = [
        '{"user": "ann", "text": "plain"}',
        "",
        "  ",
        '{"user": 7, "text": "a number"}',
        '{"user": -0, "text": "a number with a sign"}',
        '{"user": 1.0, "text": "the same as 1"}',
        '{"user": true, "text": "True"}',
        '{"user": null, "text": "nobody"}',
        '{"text": "nobody either"}',
        '{"user": "ann", "text": null}',
        '{"user": "ann", "text": 5}',
        '{"user": "ann", "user": "bob", "text": "twice"}',
        '{"us\\u0065r": "esc", "text": "escaped key"}',
        '{"user": "ann", "text": "\\u00e9\\ud83d\\ude00\\n\\t\\/\\"\\\\ \\b\\f\\r"}',
        '{"user": "ann", "text": "\\ud800 lone"}',
        '{"user": "ann", "text": "\\ude00\\ud83d turned"}',
        '{"user": "ann", "text": "bad \\x escape"}',
        '{"user": "ann", "text": "\\u12"}',
        '{"user": "ann", "text": "tab\there"}',
        '{"user": "ann", "text": "more"} ',
        '{"user": "ann", "text": "more"} x',
        '{"user": "ann", "text": "comma",}',
        '{"user": "ann" "text": "no comma"}',
        '{"user": "ann", "text": "nested", "more": {"user": "eve", "list": [1, 2]}}',
        '{"user": "ann", "text": "values", "a": 1, "b": -1.5e3, "c": true, "d": NaN, "e": 012}',
        '{"user": "ann", "text": "values", "a": 10, "b": false, "c": null, "d": "\\u00e9"}',
        '{"user": "ann", "text": "wrong literal", "a": trux}',
        '{"user": "ann", "text": "many digits", "a": ' + "9" * 5000 + "}",
        '[{"user": "ann", "text": "a list"}]',
        "{}",
        '"text"',
        "nonsense",
        '\x0b{"user": "ann", "text": "vertical tab"}',
        '{ "text" : "spaces" , "user" : "ann" }\r',
        '{"user": "ann", "text": " \u00a0\u2003 "}',
        '{"user": " \u2003", "text": "blank user"}',
        '{"user": "ann", "text": "unfinished',
    ]
    data = (
        "\n".join(lines).encode() + b'\n{"user": "ann", "text": "\xff"}\n{"user": "z", "\xc0": 1}\n'
    )
    data += b'{"user": "ann", "text": "ok \xed\xa0\x80"}\n{"user": "ann", "text": "last"}'
    for size in (60, 10**6):
        folder = tmp_path / str(size)
        folder.mkdir()
        path = folder / "odd.jsonl"
        path.write_bytes(b"\xef\xbb\xbf" + data)

        class Tiny(BuildResources):
            run_bytes = size
            piece_bytes = 300

        how = BuildSettings(validation=0, max_characters=60)
        made = build(path, folder / "c", settings=how, resources=Tiny())
        compare(made, [path], folder, how)


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "string_view", "dictionary"])
def test_columns_of_every_kind(tmp_path, kind):
    values = [b"ann", None, b"b\xff", b" ", "Ünal".encode(), b"ann"]
    said = [b"one", b"two", b"three", b"four", None, b"\xc3\xa9t\xc3\xa9 again"]
    parts = [b"train", b"val", b"train", b"train", b"x", b"\xc2\xa0train"]
    as_kind = {
        "binary": pa.binary(),
        "large_string": pa.large_string(),
        "string_view": pa.string_view(),
    }.get(kind, pa.string())

    def column(cells):
        found = pa.array(cells, pa.binary())
        if kind == "binary":
            return found
        if kind == "string_view":
            return pa.array(
                [None if c is None else c.decode("utf-8", "replace") for c in cells], as_kind
            )
        found = found.view(pa.string())
        return found.dictionary_encode() if kind == "dictionary" else found.cast(as_kind)

    names = ["user", "text", "part"]
    table = pa.Table.from_arrays([column(c) for c in (values, said, parts)], names)
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    reading = InputSettings(split_column="part")
    made = build(path, tmp_path / "c", input_settings=reading, settings=BuildSettings())
    compare(made, [path], tmp_path, BuildSettings(), reading)


def test_users_may_be_numbers(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {"user": pa.array([3, None, -1, 3], pa.int64()), "text": ["a", "b", "c", "d"]}
    pq.write_table(pa.table(columns), path)
    how = BuildSettings(validation=0)
    compare(build(path, tmp_path / "c", settings=how), [path], tmp_path, how)


def test_row_groups_end_as_they_always_did(tmp_path, monkeypatch):
    """At so many characters, also where a user goes on."""
    rows = [(f"u{n % 3}", "x" * 900_000 + f" {n}") for n in range(90)]
    path = write(rows, tmp_path, "parquet")
    how = BuildSettings(validation=0.1)
    made = build(path, tmp_path / "c", settings=how)
    compare(made, [path], tmp_path, how)
    groups = pq.ParquetFile(made.path / "shards" / "00000.parquet").num_row_groups
    assert groups == 3 and shard_schema.GROUP_CHARACTERS == 32 << 20


def test_two_users_of_one_hash_stay_apart(tmp_path, monkeypatch):
    """Nobody knows such users, so all get one hash here."""
    monkeypatch.setattr("leakscope.corpus.parts.row_columns.user_hash", lambda user: 5)
    rows = list(
        read_all([write([("b", "x"), ("a", "y"), ("b", "z")], tmp_path, "jsonl")], InputSettings())
    )
    corpus = build_rows(rows, tmp_path / "c", settings=BuildSettings(validation=0))
    assert list(corpus.shards[0].user_keys().values()) == ["a", "b"]
    assert [text for part in corpus.documents(texts=True) for text in part.texts] == ["y", "x", "z"]
