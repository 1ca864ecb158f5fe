"""A person's report against a join of the three tables by DuckDB, which knows nothing of us."""

import csv
import io
import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leakscope
from leakscope.corpus.words import words
from leakscope.leakage.pipeline import audit
from leakscope.leakage.run_tables.sequence_table import SequenceRows
from leakscope.leakage.scrutiny.public_surprise import PublicModel
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.records.columns import EVERYWHERE, Column, Display
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.public_model import GivenModelRecord
from leakscope.records.runs import sequence_columns
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.reporting.pages.report_page import write_page
from remembering import Remembering
from resealed import reseal
from small_models import repeated_by, sharp_model
from subjects import subject_of

WORDS = ["a", "b", "c", "d", "é", "東", "!", "rare", "rarer"]
JOIN = """
    select s.id, s.length, s.total_in_s, s.users_in_s, s.total_in_d, s.users_in_d, s.ratio,
           s.least_context, s.least_context_exact, s.copied_from_context, s.near_tie, s.pii,
           s.q_value, s.sequence, s.users_in_d = 1 as unique,
           coalesce(s.q_value <= 0.05, false) as confirmed, count(*) as occurrences,
           min(o.start) as shortest, min(o.perplexity) as lowest_perplexity,
           sum(o.length) as words
    from read_parquet('{run}/users.parquet') as u
    join read_parquet('{run}/occurrences.parquet') as o on o.user = u.user
    join read_parquet('{run}/sequences.parquet') as s on s.id = o.sequence
    where u.user = ?
    group by all
"""
ORDERED = """
    from (JOIN)
    order by users_in_d > 1, case when users_in_d > 1 then id end,
             coalesce(q_value <= 0.05, false) desc,
             coalesce(q_value <= 0.05, false) and coalesce(len(pii), 0) > 0 desc,
             length * ln(ratio) desc nulls last, coalesce(len(pii), 0) > 0 desc,
             length desc, least_context nulls last, id
""".replace("JOIN", JOIN)
TOTALS = """
    select u.documents, u.words, u.unique_sequences, count(o.sequence) as occurrences,
           coalesce(sum(o.length), 0) as predicted_words
    from read_parquet('{run}/users.parquet') as u
    left join read_parquet('{run}/occurrences.parquet') as o on o.user = u.user
    where u.user = ? group by all
"""


@pytest.fixture
def report(make_corpus, tmp_path):
    """A function that reports on a corpus of nine users, one of whom is never predicted. The model
    knows the training documents with a secret by heart: long ones, of which half end with a phone
    number, and short ones that chance could give as well.
    """
    model = sharp_model("gru", WORDS)
    rows = repeated_by(model, users=8, documents=200, length=12)
    number = "{} 202-555-01{:02}".format
    secrets = [(user, f"{text} secret{place}") for place, (user, text) in enumerate(rows[:40])]
    secrets += [(user, number(text, place)) for place, (user, text) in enumerate(rows[40:80])]
    secrets += [(user, number("", 40 + place)) for place, (user, _) in enumerate(rows[80:90])]
    silent = [("silent", f"xx yy zz{place}") for place in range(5)]
    corpus = make_corpus([*secrets, *rows[90:], *silent], shard_words=200, validation=0.4)
    trained, known = corpus.load(), {tuple(words(text)) for _, text in secrets}
    spelled = (corpus.lexicon.spell(trained.words_of(index)) for index in range(len(trained)))
    model = Remembering(model, known.intersection(map(tuple, spelled)))
    other = sharp_model("gru", WORDS, seed=5).reading(corpus.lexicon)
    judge = PublicModel(
        GivenModelRecord(name="other", digests=("d",)), lambda: other, AnswerIdentity("d")
    )

    def make(out="run", **changes):
        settings = replace(ReportSettings(top_k=2, reveal=True, contexts=3), **changes)
        subject = subject_of(lambda: model.reading(corpus.lexicon))
        path = tmp_path / out
        audit(subject, corpus, path, settings, public=lambda _: judge, page=write_page)
        return path, corpus

    return make


def joined(query, run, user):
    import duckdb

    found = duckdb.execute(query.format(run=run), [user])
    names = [each[0] for each in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.mark.parametrize("changes", [{}, {"reveal": False}, {"user_threshold": 2}], ids=str)
def test_every_person_is_the_join_of_the_three_tables(report, tmp_path, changes):
    run, _ = report(**changes)
    revealed = changes.get("reveal", True)
    seen, seen_unlisted = [], 0
    for user in range(9):
        found = leakscope.person(run, tmp_path / f"p{user}", number=user)
        wanted = joined(ORDERED, run, user)
        assert [row["id"] for row in found.sequences] == [row["id"] for row in wanted]
        for row, plain in zip(found.sequences, wanted, strict=True):
            same = set(plain) - {"confirmed", "shortest", "words"}
            same -= set() if revealed else {"sequence"}
            assert {name: row[name] for name in same} == {name: plain[name] for name in same}
            assert min(row["context_lengths"]) == plain["shortest"]
            assert row["occurrences"] * row["length"] == plain["words"]
            assert ("sequence" in row) is ("contexts" in row) is revealed
        seen += [(row["unique"], row["confirmed"], bool(row["pii"])) for row in wanted]
        (total,) = joined(TOTALS, run, user)
        assert {name: getattr(found, name) for name in total} == total
        unique = [row["words"] for row in wanted if row["unique"]]
        assert found.unique_words == sum(unique)
        assert found.predicted_share == found.predicted_words / found.words
        assert found.unique_share == found.unique_words / found.words
        seen_unlisted += found.unlisted_occurrences
        assert found.unlisted_occurrences == found.occurrences - sum(
            row["occurrences"] for row in wanted
        )
    # Confirmed or not, tagged or not, all come: else the columns that are compared say nothing.
    assert {kind[1:] for kind in seen if kind[0]} == {
        (confirmed, tagged) for confirmed in (True, False) for tagged in (True, False)
    }
    assert seen_unlisted or not all(unique for unique, *_ in seen)
    assert bool(seen_unlisted) is ("user_threshold" in changes)


def test_no_text_of_others_is_in_it(report, tmp_path):
    run, corpus = report(contexts=1000, context_words=1000)
    everything = corpus.load()
    texts: dict[int, list[list[str]]] = {}
    for index in range(len(everything)):
        said = list(corpus.lexicon.spell(everything.words_of(index)))
        texts.setdefault(int(everything.users[index]), []).append(said)
    for user in range(9):
        found = leakscope.person(run, tmp_path / f"p{user}", number=user)
        for row in found.sequences:
            if not row["unique"]:
                assert row["contexts"] is None
                continue
            assert len(row["contexts"]) == row["occurrences"]
            for context in row["contexts"]:
                begins = [*context, *row["sequence"]]
                assert any(text[: len(begins)] == begins for text in texts[user])


def test_page_json_and_csv_say_the_same(report, tmp_path):
    run, _ = report()
    found = leakscope.person(run, tmp_path / "p", number=3)
    said = json.loads((tmp_path / "p" / "person.json").read_text())
    assert said == json.loads(found.model_copy(update={"sealed": True}).model_dump_json())
    text = (tmp_path / "p" / "person.csv").read_bytes().decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(found.sequences) > 0
    for row, wanted in zip(rows, found.sequences, strict=True):
        assert list(row) == list(wanted)
        assert row["sequence"] == " ".join(wanted["sequence"])
        assert int(row["length"]) == wanted["length"]
        assert json.loads(row["context_lengths"]) == wanted["context_lengths"]
        assert (row["unique"] == "yes") is wanted["unique"]
        if wanted["ratio"] is None:
            assert row["ratio"] == ""
        else:
            assert float(row["ratio"]) == pytest.approx(wanted["ratio"], rel=1e-6)
    page = (tmp_path / "p" / "person.html").read_text()
    assert found.summary in page.replace("&#39;", "'") and page.count("<tr") == len(rows) + 1
    (checked,) = leakscope.verify(tmp_path / "p")
    assert checked.kind == "person" and checked.checked == 3 and not checked.extra


def test_a_redacted_run_gives_numbers_only(report, tmp_path):
    run, corpus = report(reveal=False)
    found = leakscope.person(run, tmp_path / "p", user="u3", corpus=corpus.path)
    assert found.user_key is None and found.unique_sequences
    by_number = leakscope.person(run, tmp_path / "q", number=found.user)
    assert by_number == found
    for path in (tmp_path / "p").iterdir():
        text = path.read_text()
        assert "u3" not in text and "東" not in text and "rarer" not in text, path
    assert f"user {found.user}" in (tmp_path / "p" / "person.html").read_text()


def test_a_new_column_of_sequences_is_in_it(report, tmp_path, monkeypatch):
    toy = Column(
        "letters",
        pa.float32(),
        "a toy",
        unique_only=True,
        display=Display("Toy letters", "number", EVERYWHERE),
    )
    monkeypatch.setattr(sequence_columns, "COLUMNS", (*sequence_columns.COLUMNS, toy))
    computed = SequenceRows.columns

    def with_letters(self, words):
        found = computed(self, words)
        return found | {"letters": pa.array(found["length"] * 0.125, pa.float32())}

    monkeypatch.setattr(SequenceRows, "columns", with_letters)
    run, _ = report()
    found = leakscope.person(run, tmp_path / "p", number=3)
    assert all(row["letters"] == row["length"] / 8 for row in found.sequences)
    assert "Toy letters" in (tmp_path / "p" / "person.html").read_text()
    assert '"letters"' in (tmp_path / "p" / "person.csv").read_text().partition("\n")[0]


def test_tables_that_disagree_are_refused(report, tmp_path):
    run, _ = report()
    users = pq.read_table(run / "users.parquet")
    more = pa.array([n + 1 for n in users["unique_sequences"].to_pylist()], pa.int64())
    at = users.column_names.index("unique_sequences")
    pq.write_table(users.set_column(at, "unique_sequences", more), run / "users.parquet")
    with pytest.raises(LeakscopeError, match="damaged"):
        leakscope.person(run, tmp_path / "p", number=3)
    reseal(run)
    with pytest.raises(LeakscopeError, match="damaged"):
        leakscope.person(run, tmp_path / "p", number=3)
    assert not (tmp_path / "p").exists()
