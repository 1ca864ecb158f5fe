"""The action list against the tables that it is made from."""

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build
from leakscope.corpus.document_lookup import find_documents
from leakscope.leakage.hardening.actions import REPEATED, suggest
from leakscope.leakage.pipeline import audit
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from small_models import repeated_by, sharp_model
from subjects import subject_of

WORDS = ["a", "b", "c", "d", "e", "f", "g"]


def audited(make_corpus, tmp_path, **settings):
    model = sharp_model("gru", WORDS, 3)
    rows = repeated_by(model, 5, 40, 16)
    rows += [rows[7]] * 4  # one user says the same again and again
    corpus = make_corpus(rows)
    subject = subject_of(lambda: model.reading(corpus.lexicon))
    audit(subject, corpus, tmp_path / "run", ReportSettings(top_k=2, **settings))
    return tmp_path / "run"


def test_documents_are_listed_until_every_unique_sequence_is_gone(make_corpus, tmp_path):
    run = audited(make_corpus, tmp_path)
    found = suggest(run, 1000)
    sequences = pq.read_table(run / "sequences.parquet").to_pylist()
    unique = {row["id"] for row in sequences if row["users_in_d"] == 1}
    holders: dict[int, set[int]] = {}
    for row in pq.read_table(run / "occurrences.parquet").to_pylist():
        if row["sequence"] in unique:
            holders.setdefault(row["sequence"], set()).add(row["document"])
    removed: set[int] = set()
    for action in found.documents:
        removed.add(action.document)
        gone = sum(where <= removed for where in holders.values())
        assert action.gone_so_far == gone
        assert action.sequences == sum(action.document in where for where in holders.values())
        assert action.alone == sum({action.document} == where for where in holders.values())
    assert len(removed) == found.documents_for_all
    assert found.documents[-1].gone_so_far == found.unique_sequences == len(unique) > 0


def test_copies_and_users_come_from_the_tables(make_corpus, tmp_path):
    run = audited(make_corpus, tmp_path, reveal=True)
    found = suggest(run, 1000)
    repeated = {
        row["id"]: row
        for row in pq.read_table(run / "sequences.parquet").to_pylist()
        if row["users_in_d"] == 1 and row["total_in_d"] >= REPEATED
    }
    assert {copy.sequence for copy in found.copies} == set(repeated)
    assert found.copied_sequences == len(repeated) > 0
    for copy in found.copies:
        assert copy.words == repeated[copy.sequence]["sequence"]
        assert copy.times == repeated[copy.sequence]["total_in_d"]
    users = pq.read_table(run / "users.parquet").to_pylist()
    assert {u.user for u in found.users} == {u["user_key"] for u in users if u["unique_sequences"]}
    assert len(suggest(run, 1).users) == 1


def test_a_redacted_run_gives_numbers_only(make_corpus, tmp_path):
    found = suggest(audited(make_corpus, tmp_path))
    assert all(copy.words is None for copy in found.copies)
    assert all(isinstance(each.user, int) for each in found.users + found.copies)
    assert found.without_origins is not None and not found.revealed
    assert all(document.file is None is document.row for document in found.documents)


def built(tmp_path):
    """A corpus of two files whose names are secret, and a run on it."""
    model = sharp_model("gru", WORDS, 3)
    rows = repeated_by(model, 5, 40, 16)
    paths = [tmp_path / "secret-1.jsonl", tmp_path / "secret-2.jsonl"]
    for path, part in zip(paths, (rows[:18], rows[18:]), strict=True):
        lines = [json.dumps({"user": f"key-{user}", "text": text}) for user, text in part]
        path.write_text("\n".join(lines))
    corpus = build(paths, tmp_path / "corpus", settings=BuildSettings(validation=0))
    subject = subject_of(lambda: model.reading(corpus.lexicon))
    audit(subject, corpus, tmp_path / "run", ReportSettings(top_k=2))
    audit(subject, corpus, tmp_path / "open", ReportSettings(top_k=2, reveal=True))
    return corpus


def test_documents_are_named_by_their_origin_and_users_in_one_way(tmp_path):
    corpus = built(tmp_path)
    keys = {user: key for shard in corpus.shards for user, key in shard.user_keys().items()}
    plain = suggest(tmp_path / "run", 1000, corpus)
    assert "secret" not in str(plain) and "key-" not in str(plain)
    assert plain.without_origins is None and {each.file for each in plain.documents} == {1, 2}
    shown = suggest(tmp_path / "run", 1000, corpus, reveal=True)
    assert shown == replace(
        suggest(tmp_path / "open", 1000, corpus),
        copies=[replace(each, words=None) for each in shown.copies],
    )
    where = {
        each.document: each for each in find_documents(corpus, list(range(len(keys))), texts=False)
    }
    for number, name in zip(plain.documents, shown.documents, strict=True):
        known = where.get(number.document)
        assert known is None or (name.file, name.row) == (known.file, known.row)
        assert (f"secret-{number.file}.jsonl", number.row) == (name.file, name.row)
        assert keys[number.user] == name.user
    for kind in ("users", "copies"):
        numbers, names = getattr(plain, kind), getattr(shown, kind)
        assert [keys[each.user] for each in numbers] == [each.user for each in names]
    assert {type(each.user) for each in shown.users + shown.copies + shown.documents} == {str}


def test_names_need_the_corpus_that_the_run_was_made_on(tmp_path, make_corpus):
    built(tmp_path)
    with pytest.raises(LeakscopeError, match="give its corpus"):
        suggest(tmp_path / "run", reveal=True)
    assert suggest(tmp_path / "open").users[0].user.startswith("key-")
    with pytest.raises(LeakscopeError, match="another corpus"):
        suggest(tmp_path / "run", corpus=make_corpus([("a", "a b c")]))
