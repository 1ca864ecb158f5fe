"""A report on some users is that part of the whole report, counted in all of D."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from leakscope.leakage.pipeline import Resources, audit
from leakscope.leakage.scrutiny.public_surprise import PublicModel
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.public_model import GivenModelRecord
from leakscope.records.runs.report_settings import AuditedUsers, ReportSettings
from leakscope.reporting.facts.run_summary import summary
from leakscope.reporting.pages.report_page import write_page
from small_models import repeated_by, sharp_model
from subjects import subject_of

WORDS = ["a", "b", "c", "d", "é", "東", "!", "rare", "rarer"]
OF_D = ("length", "total_in_d", "users_in_d")
OF_UNIQUE = ("total_in_s", "ratio", "least_context", "contexts", "perplexities", "pii")


@pytest.fixture
def run_for(make_corpus, tmp_path):
    """A function that reports on some users by their numbers, or on all."""
    model = sharp_model("gru", WORDS)
    rows = repeated_by(model, users=9, documents=60, length=12)
    corpus = make_corpus(rows, validation=0.1, shard_words=200)
    other = sharp_model("gru", WORDS, seed=5).reading(corpus.lexicon)
    judge = PublicModel(
        GivenModelRecord(name="other", digests=("d",)), lambda: other, AnswerIdentity("d")
    )

    def make(users, **changes):
        out = tmp_path / f"run-{users}-{len(changes)}"
        chosen = None if users is None else np.array(users, np.int32)
        settings = ReportSettings(
            top_k=2,
            reveal=True,
            contexts=1000,
            audited=None if users is None else AuditedUsers(len(users), "d"),
            **changes,
        )
        subject = subject_of(lambda: model.reading(corpus.lexicon))
        metrics = audit(
            replace(subject, users=chosen),
            corpus,
            out,
            settings,
            public=lambda _: judge,
            resources=Resources(threads=2),
            page=write_page,
        )
        tables = {
            name: pq.read_table(out / f"{name}.parquet").to_pylist()
            for name in ("sequences", "occurrences", "users")
        }
        return metrics, tables, out

    assert len(corpus.shards) > 1
    return make


@pytest.mark.parametrize("users", [[0], [2, 5, 6], [1, 3, 4, 7, 8]])
def test_it_is_the_part_of_the_whole_report(run_for, users):
    whole_metrics, whole, _ = run_for(None)
    metrics, part, out = run_for(users)
    spelled = {row["id"]: tuple(row["sequence"]) for row in whole["sequences"]}
    named = {row["id"]: tuple(row["sequence"]) for row in part["sequences"]}

    def plain(rows, names):
        return [{**row, "sequence": names[row["sequence"]]} for row in rows if row["user"] in users]

    assert plain(part["occurrences"], named) == plain(whole["occurrences"], spelled)
    assert len(part["occurrences"]) == len(plain(part["occurrences"], named)) > 0
    theirs = {row["sequence"] for row in plain(whole["occurrences"], spelled)}
    by_words = {tuple(row["sequence"]): row for row in whole["sequences"]}
    assert set(named.values()) == theirs and len(named) == len(theirs)
    for row in part["sequences"]:
        full = by_words[tuple(row["sequence"])]
        assert [row[name] for name in OF_D] == [full[name] for name in OF_D]
        if row["users_in_d"] == 1:
            assert [row[name] for name in OF_UNIQUE] == [full[name] for name in OF_UNIQUE]
    assert part["users"] == [row for row in whole["users"] if row["user"] in users]
    assert (metrics.users, metrics.words) == (whole_metrics.users, whole_metrics.words)
    assert metrics.asked.users == len(part["users"])
    assert metrics.asked.words == sum(row["words"] for row in part["users"])
    assert metrics.asked.documents == sum(row["documents"] for row in part["users"])
    assert metrics.correct_words == sum(row["length"] for row in part["occurrences"])
    assert metrics.unique_sequences == sum(row["unique_sequences"] for row in part["users"]) > 0
    assert whole_metrics.audited is None and "audited" not in str(whole_metrics.notices)
    said = f"Only {len(part['users'])} of {whole_metrics.users} users were audited"
    assert metrics.notices[0].startswith(said)
    page = (out / "report.html").read_text()
    assert said in page and "audited user" in summary(metrics)


def test_the_perplexity_is_that_of_what_was_read(run_for):
    metrics, _, _ = run_for([2, 5], full_perplexity=True)
    whole, _, _ = run_for(None, full_perplexity=True)
    others, _, _ = run_for([0, 1, 3, 4, 6, 7, 8], full_perplexity=True)
    logs = [np.log(each.train_perplexity) * each.asked.words for each in (metrics, others)]
    assert sum(logs) == pytest.approx(np.log(whole.train_perplexity) * whole.words)
    assert "audited users' words" in str(metrics.notices)


def test_users_without_training_documents_are_counted(make_corpus, tmp_path):
    rows = [(f"u{n}", "a b c d a b") for n in range(20)]
    corpus = make_corpus(rows, validation=0.5, split_by="user")
    model = sharp_model("gru", WORDS).reading(corpus.lexicon)
    trained = sorted(set(corpus.load().users.tolist()))
    absent = [number for number in range(20) if number not in trained]
    assert absent and trained

    def report(users, out):
        chosen = np.array(sorted(users), np.int32)
        settings = ReportSettings(audited=AuditedUsers(len(users), "d"))
        subject = replace(subject_of(lambda: model), users=chosen)
        return audit(subject, corpus, tmp_path / out, settings)

    metrics = report([trained[0], *absent], "run")
    assert metrics.asked.users == 1 and metrics.users == len(trained)
    told = f"{len(absent)} of the {len(absent) + 1} chosen users had no training documents"
    assert metrics.notices[1].startswith(told)
    with pytest.raises(LeakscopeError, match="nothing to measure"):
        report(absent, "nothing")
    assert not (tmp_path / "nothing").exists()
