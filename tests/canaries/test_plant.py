"""Planting: what is added and what stays, where canaries stand, that they are found again."""

import json
import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import leakscope
from leakscope.canaries.planting.drawing import draw_distinct
from leakscope.canaries.planting.placement import PlantedText, Users, place_among
from leakscope.canaries.random_space import make_space
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.corpus.store import Corpus
from leakscope.records.canaries.canary_manifest import CanaryManifest
from planted import data_rows, write_jsonl

SMALL = {"vocabulary": 40, "schedule": "1,3", "controls": 5}


def documents_of(corpus, split):
    """(user, text) of a split, in order."""
    keys = {}
    for shard in corpus.shards:
        keys |= shard.user_keys()
    return [
        (keys[int(user)], text)
        for chunk in corpus.documents(split, texts=True)
        for user, text in zip(chunk.users, chunk.texts, strict=True)
    ]


def rows_in(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def planted_texts(manifest):
    return Counter(
        (canary.user, canary.text)
        for canary in manifest.canaries
        if canary.state == "planted"
        for _ in range(canary.repetitions)
    )


def test_the_planted_rows_are_the_input_and_the_canaries_and_nothing_else(tmp_path):
    raw = [json.dumps({"text": t, "user": u, "day": i}) for i, (u, t) in enumerate(data_rows())]
    raw.insert(7, "not json")
    raw.insert(20, json.dumps({"user": None, "text": "nobody"}))
    source = tmp_path / "data.jsonl"
    source.write_text("\n".join(raw) + "\n")
    manifest = leakscope.canary.plant(source, tmp_path / "out", **SMALL)
    lines = (tmp_path / "out" / manifest.rows).read_text().splitlines()
    planted = {row for canary in manifest.canaries for row in canary.rows}
    assert [line for i, line in enumerate(lines) if i not in planted] == raw
    for canary in manifest.canaries:
        for row in canary.rows:
            assert json.loads(lines[row]) == {"user": canary.user, "text": canary.text}
        assert len(canary.rows) == (canary.repetitions if canary.state == "planted" else 0)
    assert sum(canary.state == "control" for canary in manifest.canaries) == 5


def test_parquet_keeps_its_columns_and_its_rows(tmp_path):
    rows = data_rows(users=5)
    table = pa.table(
        {
            "day": pa.array(range(len(rows)), pa.int16()),
            "nick": pa.array([int(user[1:]) for user, _ in rows], pa.int64()),
            "text": pa.array([text for _, text in rows]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "data.parquet", row_group_size=7)
    manifest = leakscope.canary.plant(
        tmp_path / "data.parquet", tmp_path / "out", user_column="nick", **SMALL
    )
    made = pq.read_table(tmp_path / "out" / "planted.parquet")
    assert made.schema.names == table.schema.names
    assert made.schema.field("nick").type == pa.int64()
    planted = sorted(row for canary in manifest.canaries for row in canary.rows)
    others = np.setdiff1d(np.arange(len(made)), planted)
    assert made.take(others).to_pylist() == table.to_pylist()
    for canary in manifest.canaries:
        for row in canary.rows:
            expected = {"day": None, "nick": int(canary.user), "text": canary.text}
            assert made.slice(row, 1).to_pylist() == [expected]


@pytest.mark.parametrize("held", ["document", "user"])
def test_the_planted_corpus_holds_the_same_documents_in_the_same_splits(tmp_path, held):
    source = write_jsonl(tmp_path / "data.jsonl", data_rows())
    how = BuildSettings(validation=0.3, split_by=held)
    plain = leakscope.corpus.build(source, tmp_path / "plain", how)
    manifest = leakscope.canary.plant(source, tmp_path / "out", how, **SMALL)
    before, after = Corpus.open(tmp_path / "plain"), Corpus.open(tmp_path / "out" / "corpus")
    assert documents_of(before, VALIDATION) == documents_of(after, VALIDATION)
    added = Counter(documents_of(after, TRAIN))
    added.subtract(documents_of(before, TRAIN))
    assert +added == planted_texts(manifest) and not -added
    assert after.manifest.digest == manifest.corpus_digest != plain.digest
    old = [pair for pair in documents_of(after, TRAIN) if pair not in planted_texts(manifest)]
    assert old == documents_of(before, TRAIN)


def test_a_corpus_in_and_its_data_in_give_the_same_canaries_and_corpus(tmp_path):
    source = write_jsonl(tmp_path / "data.jsonl", data_rows())
    leakscope.corpus.build(source, tmp_path / "corpus")
    of_data = leakscope.canary.plant(source, tmp_path / "one", **SMALL)
    of_corpus = leakscope.canary.plant(tmp_path / "corpus", tmp_path / "two", **SMALL)
    assert of_data.corpus_digest == of_corpus.corpus_digest
    drop = {"rows"}
    assert [c.model_dump(exclude=drop) for c in of_data.canaries] == [
        c.model_dump(exclude=drop) for c in of_corpus.canaries
    ]
    rows = [
        json.loads(line) for line in (tmp_path / "two" / "planted.jsonl").read_text().splitlines()
    ]
    splits = Counter(row["split"] for row in rows)
    again = build_rows(
        [Row(row["user"], row["text"], split=row["split"]) for row in rows], tmp_path / "again"
    )
    assert again.manifest.digest == of_corpus.corpus_digest and splits["validation"] > 0


def test_a_split_column_decides_what_is_training_text(tmp_path):
    rows = data_rows()
    lines = [
        {"user": u, "text": t, "part": "training" if i % 3 else "test"}
        for i, (u, t) in enumerate(rows)
    ]
    source = tmp_path / "data.jsonl"
    source.write_text("\n".join(map(json.dumps, lines)))
    manifest = leakscope.canary.plant(source, tmp_path / "out", split_column="part", **SMALL)
    made = [
        json.loads(line) for line in (tmp_path / "out" / "planted.jsonl").read_text().splitlines()
    ]
    assert all(made[row]["part"] == "training" for c in manifest.canaries for row in c.rows)
    corpus = Corpus.open(tmp_path / "out" / "corpus")
    held = [(row["user"], row["text"]) for row in lines if row["part"] == "test"]
    assert Counter(documents_of(corpus, VALIDATION)) == Counter(held)


def test_the_manifest_is_enough_to_find_the_canaries_again(tmp_path):
    source = write_jsonl(tmp_path / "data.jsonl", data_rows())
    frequency = ("all-low", "mixed")
    leakscope.canary.plant(source, tmp_path / "out", frequency=frequency, **SMALL)
    manifest = CanaryManifest.load(tmp_path / "out")
    manifest.require_rows(tmp_path / "out")
    for canary in manifest.canaries:
        slots = manifest.spaces[canary.space].slots
        spelled = [manifest.vocabularies[s][c] for s, c in zip(slots, canary.choices, strict=True)]
        assert spelled == canary.words == canary.text.split()
    found = Counter(documents_of(Corpus.open(tmp_path / "out" / "corpus"), TRAIN))
    for canary in manifest.canaries:
        stands = canary.repetitions if canary.state == "planted" else 0
        assert found[canary.user, canary.text] == stands
    assert (tmp_path / "out" / "canaries.json").stat().st_mode & 0o777 == 0o600
    assert len({canary.text for canary in manifest.canaries}) == len(manifest.canaries)


def test_the_seed_decides_everything(tmp_path):
    source = write_jsonl(tmp_path / "data.jsonl", data_rows())
    made = [
        leakscope.canary.plant(source, tmp_path / str(i), seed=seed, **SMALL)
        for i, seed in enumerate((3, 3, 4))
    ]
    assert made[0] == made[1]
    assert {c.text for c in made[0].canaries}.isdisjoint({c.text for c in made[2].canaries})


def test_draws_have_no_repeats_and_stand_nowhere_in_the_text(tmp_path):
    """The space has 27 texts, 5 of which stand in the text, one across two documents only."""
    rows = [Row("a", "x y z x x"), Row("a", "z z z"), Row("b", "y"), Row("b", "y y")]
    corpus = build_rows(rows, tmp_path / "c", settings=BuildSettings(validation=0))
    space = make_space("{words:3}", [["x", "y", "z"]] * 3, lowercase=False)
    standing = {"x y z", "y z x", "z x x", "z z z"}
    drawn = draw_distinct(space, 23, np.random.default_rng(0), corpus)
    texts = set(space.texts(drawn))
    assert len(texts) == 23 and not texts & standing
    with pytest.raises(leakscope.LeakscopeError, match="only 23 texts"):
        draw_distinct(space, 24, np.random.default_rng(0), corpus)


def test_draws_without_replacement_are_uniform(tmp_path):
    rows = [Row("a", "x y"), Row("b", "z")]
    corpus = build_rows(rows, tmp_path / "c", settings=BuildSettings(validation=0))
    space = make_space("{words:2}", [["x", "y", "z", "v"]] * 2, lowercase=False)
    rng, counts = np.random.default_rng(1), Counter()
    for _ in range(500):
        counts.update(space.texts(draw_distinct(space, 3, rng, corpus)))
    assert counts["x y"] == 0 and len(counts) == 15
    assert stats.chisquare(list(counts.values())).pvalue > 0.001


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_places_are_gaps_of_the_users_documents(documents, seed):
    users = Users(["a"], {"a": documents}, {"a"})
    found = place_among([PlantedText(0, "a", "t")] * 9, users, np.random.default_rng(seed))
    assert all(0 <= gap <= documents for _, gap in found)
    assert sum(map(len, found.values())) == 9


def test_every_gap_is_as_likely():
    users = Users(["a"], {"a": 4}, {"a"})
    texts = [PlantedText(i, "a", "t") for i in range(20_000)]
    found = place_among(texts, users, np.random.default_rng(2))
    counts = [len(found["a", gap]) for gap in range(5)]
    assert stats.chisquare(counts).pvalue > 0.001


def test_coins_make_users_of_their_own(tmp_path):
    source = write_jsonl(tmp_path / "data.jsonl", [*data_rows(), ("canary-0-3", "wab waa")])
    manifest = leakscope.canary.plant(
        source, tmp_path / "out", coins="user", canaries=200, schedule="4", vocabulary=60
    )
    coins = [canary for canary in manifest.canaries if canary.state != "control"]
    assert len({canary.user for canary in coins}) == 200
    found = documents_of(Corpus.open(tmp_path / "out" / "corpus"), TRAIN)
    by_user = Counter(user for user, _ in found)
    for canary in coins:
        assert by_user[canary.user] == (4 if canary.state == "planted" else 0)
        assert all(text == canary.text for user, text in found if user == canary.user)
    inside = sum(canary.state == "planted" for canary in coins)
    assert stats.binomtest(inside, 200).pvalue > 0.001


def test_coins_make_documents_each_with_all_its_repetitions(tmp_path):
    source = write_jsonl(tmp_path / "data.jsonl", data_rows())
    manifest = leakscope.canary.plant(
        source, tmp_path / "out", coins="document", canaries=60, schedule="3", vocabulary=60
    )
    made = [
        json.loads(line) for line in (tmp_path / "out" / "planted.jsonl").read_text().splitlines()
    ]
    for canary in manifest.canaries:
        assert len(canary.rows) == (canary.state == "planted")
        for row in canary.rows:
            assert made[row]["text"] == " ".join([canary.text] * 3)
    assert {canary.user for canary in manifest.canaries[:60]} <= {f"u{i}" for i in range(8)}


def test_real_canaries_are_the_most_surprising_documents(tmp_path):
    source = write_jsonl(tmp_path / "data.jsonl", [*data_rows(users=4), ("u9", "zzz")])
    leakscope.corpus.build(source, tmp_path / "corpus", validation=0.0)
    leakscope.train(tmp_path / "corpus", tmp_path / "model", arch="gru", hidden=8, embedding=8,
                    epochs=1, threads=1)  # fmt: skip
    manifest = leakscope.canary.plant(
        source, tmp_path / "out", real=tmp_path / "model", validation=0.0, **SMALL
    )
    real = {canary.user: canary for canary in manifest.canaries if canary.state == "real"}
    assert sorted(real) == ["u0", "u1", "u2", "u3"] and manifest.without_real == 1
    corpus = Corpus.open(tmp_path / "corpus")
    from leakscope.models.word.model_directory import load_model

    model = load_model(tmp_path / "model").reading(corpus.lexicon)
    documents = corpus.load()
    logs = model.log_probs(documents, np.ones(len(documents.ids), bool))
    keys = corpus.shards[0].user_keys()
    worst = {}
    for index in range(len(documents)):
        at = slice(documents.offsets[index], documents.offsets[index + 1])
        perplexity = math.exp(-logs[at].mean())
        if at.stop - at.start > 1:
            user = keys[int(documents.users[index])]
            spelled = corpus.lexicon.spell(documents.ids[at])
            worst[user] = max(worst.get(user, (0.0, [])), (perplexity, spelled))
    for user, canary in real.items():
        assert canary.words == worst[user][1]
        assert canary.perplexity == pytest.approx(worst[user][0], rel=1e-4)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"users": 9}, "8 users with training documents"),
        ({"template": "{words:1}"}, "texts that"),
        ({"template": "words"}, "random places"),
        ({"schedule": "1,0"}, "--schedule"),
        ({"frequency": "rare"}, "--frequency"),
        ({"coins": "user", "users": 3}, "--canaries"),
        ({"phrase": True}, "--phrase"),
        ({"vocabulary": 1}, "--vocabulary"),
    ],
)
def test_what_cannot_be_planted_leaves_nothing(tmp_path, options, told):
    source = write_jsonl(tmp_path / "data.jsonl", data_rows())
    with pytest.raises(leakscope.LeakscopeError, match=told):
        leakscope.canary.plant(source, tmp_path / "out", **(SMALL | options))
    assert not (tmp_path / "out" / "canaries.json").exists()
    assert not list(tmp_path.glob("out/*"))


def test_a_column_that_must_not_be_empty_is_refused(tmp_path):
    rows = data_rows()
    schema = pa.schema(
        [("user", pa.string()), ("text", pa.string()), pa.field("id", pa.int64(), nullable=False)]
    )
    columns = [[u for u, _ in rows], [t for _, t in rows], list(range(len(rows)))]
    pq.write_table(pa.table(columns, schema=schema), tmp_path / "data.parquet")
    with pytest.raises(leakscope.LeakscopeError, match="id must not be empty"):
        leakscope.canary.plant(tmp_path / "data.parquet", tmp_path / "out", **SMALL)


def test_a_corpus_takes_no_options_of_data(tmp_path):
    source = write_jsonl(tmp_path / "data.jsonl", data_rows())
    leakscope.corpus.build(source, tmp_path / "corpus")
    with pytest.raises(leakscope.LeakscopeError, match="is a corpus"):
        leakscope.canary.plant(tmp_path / "corpus", tmp_path / "out", lowercase=True, **SMALL)
