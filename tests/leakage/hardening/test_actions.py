"""The action list against the tables that it is made from."""

import pyarrow.parquet as pq

from leakscope.leakage.hardening.actions import REPEATED, suggest
from leakscope.leakage.pipeline import audit
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
    assert {u.user_key for u in found.users} == {
        u["user_key"] for u in users if u["unique_sequences"]
    }
    assert len(suggest(run, 1).users) == 1


def test_a_redacted_run_gives_numbers_only(make_corpus, tmp_path):
    found = suggest(audited(make_corpus, tmp_path))
    assert all(copy.words is None for copy in found.copies)
    assert all(user.user_key is None for user in found.users)
