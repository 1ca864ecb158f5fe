"""Building a corpus: against plain dictionaries, whatever the shards and the memory."""

import json
import stat
from collections import Counter, defaultdict

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build, build_rows
from leakscope.corpus.parts.row_columns import user_hash
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.split import in_validation
from leakscope.corpus.store import Corpus
from leakscope.corpus.words import words
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import MARKER

ROWS = [
    Row("ann", "the cat sat on the mat ."),
    Row("bob", "the dog sat ."),
    Row("ann", "a cat ... again"),
    Row("cid", "東京 the end"),
    Row("bob", "the the the the"),
]
EVERYTHING = BuildSettings(validation=0.0)

rows_strategy = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.lists(st.sampled_from(["x", "y", "z", "!", "é", "東"]), min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=25,
)


def as_rows(pairs):
    return [Row(user, " ".join(said)) for user, said in pairs]


def stored(corpus: Corpus):
    """(user key, text, words) of each document, read back through the lexicon."""
    keys = {n: k for shard in corpus.shards for n, k in shard.user_keys().items()}
    return [
        (keys[int(part.users[i])], part.texts[i], corpus.lexicon.spell(part.words_of(i)))
        for split in ("train", "validation")
        for part in corpus.documents(split, texts=True)
        for i in range(len(part))
    ]


def test_documents_come_back_as_they_went_in(tmp_path):
    corpus = build_rows(ROWS, tmp_path / "c", settings=EVERYTHING)
    found = stored(corpus)
    assert sorted((u, t) for u, t, _ in found) == sorted((r.user, r.text) for r in ROWS)
    assert all(spelled == words(text) for _, text, spelled in found)
    order = [user for user, _, _ in found]
    assert order == sorted(order, key=lambda user: user_hash(user.encode()))
    ann = [text for user, text, _ in found if user == "ann"]
    assert ann == ["the cat sat on the mat .", "a cat ... again"]


@settings(max_examples=30)
@given(rows_strategy, st.sampled_from([1, 7, 1000]), st.sampled_from(["frequency", "users"]))
def test_lexicon_equals_plain_counting(tmp_path_factory, pairs, shard_words, order):
    out = tmp_path_factory.mktemp("build") / "c"
    options = BuildSettings(validation=0.0, shard_words=shard_words, order=order)
    corpus = build_rows(as_rows(pairs), out, settings=options)
    counts, users = Counter(), defaultdict(set)
    for user, said in pairs:
        for word in said:
            counts[word] += 1
            users[word].add(user)
    keys = {
        w: (-counts[w], -len(users[w]), w)
        if order == "frequency"
        else (-len(users[w]), -counts[w], w)
        for w in counts
    }
    assert list(corpus.lexicon.words) == sorted(counts, key=keys.__getitem__)
    assert corpus.lexicon.counts.tolist() == [counts[w] for w in corpus.lexicon.words]
    assert corpus.lexicon.users.tolist() == [len(users[w]) for w in corpus.lexicon.words]


@settings(max_examples=20)
@given(rows_strategy)
def test_shards_hold_whole_users_and_do_not_change_the_corpus(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("shards")
    made = (
        [
            build_rows(
                as_rows(pairs),
                folder / str(size),
                settings=BuildSettings(validation=0.3, shard_words=size),
            )
            for size in (1, 10**6)
        ]
        if _trainable(pairs)
        else []
    )
    for corpus in made:
        owners = [set(shard.user_keys()) for shard in corpus.shards]
        assert sum(map(len, owners)) == len(set().union(*owners)) == corpus.manifest.users
    if made:
        assert stored(made[0]) == stored(made[1])
        assert made[0].manifest.digest == made[1].manifest.digest
        assert made[0].manifest.lexicon_digest == made[1].manifest.lexicon_digest


def _trainable(pairs):
    seen = Counter()
    held = []
    for user, _ in pairs:
        held.append(in_validation(0.3, "document", 0, user, seen[user]))
        seen[user] += 1
    return not all(held)


def test_what_cannot_be_used_is_set_aside_and_counted(tmp_path):
    rows = [
        *ROWS,
        Row(None, "no user"),
        Row("  ", "blank user"),
        Row("ann", ""),
        Row("ann", " \n "),
        Row("ann", None),
        Row("ann", "lone \ud800 surrogate"),
        Row("ann", "long " * 1000),
        Row(None, None, "deleted author"),
    ]
    options = BuildSettings(validation=0.0, max_characters=1000)
    corpus = build_rows(rows, tmp_path / "c", settings=options)
    assert corpus.manifest.set_aside == {
        "deleted author": 1,
        "empty text": 3,
        "invalid UTF-8": 1,
        "null user": 2,
        "too long": 1,
    }
    assert corpus.manifest.train.documents == len(ROWS)


def test_split_is_seeded_and_by_document_or_user(tmp_path):
    rows = [Row(f"u{i % 50}", f"text {i}") for i in range(2000)]
    by_document = BuildSettings(validation=0.2)
    first = build_rows(rows, tmp_path / "a", settings=by_document).manifest
    again = build_rows(rows[::1], tmp_path / "b", settings=by_document).manifest
    other = build_rows(
        rows, tmp_path / "d", settings=BuildSettings(validation=0.2, seed=1)
    ).manifest
    assert first.digest == again.digest != other.digest
    assert 300 < first.validation.documents < 500
    assert first.validation.users > 45
    users = build_rows(
        rows, tmp_path / "u", settings=BuildSettings(validation=0.2, split_by="user")
    )
    train, held = users.manifest.train, users.manifest.validation
    assert train.users + held.users == 50 and 3 <= held.users <= 20
    assert held.documents == 40 * held.users


def test_words_of_validation_only_come_last_in_the_lexicon(tmp_path):
    rows = [Row(f"u{i}", f"common word{i}") for i in range(60)]
    corpus = build_rows(rows, tmp_path / "c", settings=BuildSettings(validation=0.3))
    counts = corpus.lexicon.counts
    assert counts[0] == corpus.manifest.train.documents
    assert counts.tolist() == sorted(counts.tolist(), reverse=True) and counts[-1] == 0


def test_files_are_private_and_readable_without_us(tmp_path):
    corpus = build_rows(ROWS, tmp_path / "c", settings=EVERYTHING)
    assert stat.S_IMODE(corpus.path.stat().st_mode) == 0o700
    for file in corpus.path.rglob("*"):
        if file.is_file():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
    table = pq.read_table(corpus.path / "shards" / "00000.parquet").to_pandas()
    assert set(table["user_key"]) == {"ann", "bob", "cid"}
    manifest = json.loads((corpus.path / "manifest.json").read_text())
    assert manifest["documents_per_user"]["max"] == 2.0
    assert not (corpus.path / ".building").exists()


def test_an_interrupted_build_starts_again_but_a_finished_one_is_kept(tmp_path):
    (tmp_path / "c" / ".building").mkdir(parents=True)
    (tmp_path / "c" / MARKER).write_text('{"unfinished":"corpus build","version":1}')
    (tmp_path / "c" / ".building" / "left.arrows").write_text("junk")
    build_rows(ROWS, tmp_path / "c", settings=EVERYTHING)
    with pytest.raises(LeakscopeError, match="already exists"):
        build_rows(ROWS, tmp_path / "c", settings=EVERYTHING)


@pytest.mark.parametrize("stage", ["number words", "write shards"])
def test_a_build_that_is_stopped_leaves_nothing_and_starts_over(tmp_path, stage):
    def stop(at, done, total=None, note=""):
        if at == stage and done == (total or done):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_rows(ROWS, tmp_path / "c", settings=EVERYTHING, progress=stop)
    assert not (tmp_path / "c").exists()
    build_rows(ROWS, tmp_path / "c", settings=EVERYTHING)


def test_nothing_left_to_train_on_is_an_error(tmp_path):
    with pytest.raises(LeakscopeError, match="2 with empty text"):
        build_rows([Row("a", ""), Row("b", " ")], tmp_path / "c")
    with pytest.raises(LeakscopeError, match="input is empty"):
        build_rows([], tmp_path / "d")


def test_a_damaged_shard_or_lexicon_is_found(tmp_path):
    corpus = build_rows(ROWS, tmp_path / "c", settings=EVERYTHING)
    shard = corpus.path / "shards" / "00000.parquet"
    data = bytearray(shard.read_bytes())
    shard.write_bytes(data[: len(data) // 2])
    with pytest.raises(LeakscopeError, match="truncated or damaged"):
        corpus.load()
    data[60] ^= 0xFF
    shard.write_bytes(data)
    with pytest.raises(LeakscopeError, match="truncated or damaged"):
        list(corpus.documents(texts=True))
    lexicon = corpus.path / "lexicon.parquet"
    lexicon.write_bytes(lexicon.read_bytes()[:-10])
    with pytest.raises(LeakscopeError, match="truncated or damaged"):
        _ = corpus.lexicon


def test_build_reads_files_and_notes_their_digests(tmp_path):
    source = tmp_path / "chat.jsonl"
    source.write_text('{"nick": "ann", "line": "hello there"}\n{"nick": null, "line": "x"}\n')
    corpus = build(
        [source], tmp_path / "c", input_settings=InputSettings("nick", "line"), settings=EVERYTHING
    )
    assert corpus.manifest.set_aside == {"null user": 1}
    (given,) = corpus.manifest.inputs
    assert (given.name, given.format) == ("chat.jsonl", "jsonl") and len(given.digest) == 32


def test_paths_may_be_strings(tmp_path):
    source = tmp_path / "chat.jsonl"
    source.write_text('{"user": "ann", "text": "hello there"}\n')
    made = build(str(source), str(tmp_path / "one"), settings=EVERYTHING)
    again = build([str(source)], tmp_path / "two", settings=EVERYTHING)
    assert made.manifest.digest == again.manifest.digest
    assert Corpus.open(str(tmp_path / "one")).manifest == made.manifest
