"""A run whose tables contradict each other or the corpus is refused by all that read it back."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leakscope.auditing.block_list_building import block_list
from leakscope.leakage.hardening.actions import suggest
from leakscope.leakage.hardening.hardened_points import harden_run
from leakscope.leakage.pipeline import audit
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from small_models import repeated_by, sharp_model
from subjects import subject_of

WORDS = ["a", "b", "c", "d", "e", "f", "g"]


@pytest.fixture
def audited(make_corpus, tmp_path):
    """A run and its corpus; of the unique occurrences, `edit` changes one column."""
    model = sharp_model("gru", WORDS, 3)
    corpus = make_corpus(repeated_by(model, 5, 40, 16))
    subject = subject_of(lambda: model.reading(corpus.lexicon))
    audit(subject, corpus, tmp_path / "run", ReportSettings(top_k=2))
    return tmp_path / "run", corpus


def edit(path, name, change, rows):
    table = pq.read_table(path)
    place, values = table.schema.get_field_index(name), table[name].to_pylist()
    for row in rows:
        values[row] = change(values[row])
    column = pa.array(values, table.schema.field(name).type)
    pq.write_table(table.set_column(place, table.schema.field(name), column), path)


def unique_rows(run):
    sequences = pq.read_table(run / "sequences.parquet").to_pylist()
    unique = {row["id"] for row in sequences if row["users_in_d"] == 1}
    found = pq.read_table(run / "occurrences.parquet")["sequence"].to_pylist()
    return [row for row, sequence in enumerate(found) if sequence in unique]


EVERY = {"harden", "suggest", "block list"}
WITH_CORPUS = {"harden", "block list"}
EDITS = [
    ("sequence", lambda _: 2**31 - 1, EVERY),
    ("sequence", lambda _: -1, EVERY),
    ("sequence", lambda _: None, EVERY),
    ("document", lambda _: -1, EVERY),
    ("document", lambda _: None, EVERY),
    ("document", lambda number: 1_000_000 - number, EVERY),
    ("document", lambda number: number + 1_000_000, WITH_CORPUS),
    ("start", lambda _: -3, EVERY),
    ("start", lambda _: None, EVERY),
    ("start", lambda _: 2**31 - 1, WITH_CORPUS),
    ("length", lambda _: 0, EVERY),
    ("length", lambda _: -2, EVERY),
    ("length", lambda _: 2**31 - 1, EVERY),
    ("length", lambda length: length + 1, {"harden", "suggest"}),
    ("user", lambda _: -1, {"harden", "suggest"}),
    ("user", lambda user: user + 1, {"harden"}),
    ("ranks", lambda ranks: ranks[:-1], {"harden", "suggest"}),
    ("log_probs", lambda values: [*values, 0.0], {"harden", "suggest"}),
    ("top_log_probs", lambda _: None, {"harden", "suggest"}),
]


def readers(run, corpus, tmp_path):
    return {
        "harden": lambda: harden_run(run, corpus, (2.0,)),
        "suggest": lambda: suggest(run),
        "block list": lambda: block_list(run, corpus.path, tmp_path / "list"),
    }


@pytest.mark.parametrize(("column", "change", "by"), EDITS)
def test_places_are_within_the_documents(audited, tmp_path, column, change, by):
    run, corpus = audited
    edit(run / "occurrences.parquet", column, change, unique_rows(run))
    for name, read in readers(run, corpus, tmp_path).items():
        if name in by:
            with pytest.raises(LeakscopeError, match=r"occurrences\.parquet is"):
                read()


@pytest.mark.parametrize("number", [-1, 2**31 - 1, None, 1])
def test_sequences_are_numbered_without_gaps(audited, tmp_path, number):
    run, corpus = audited
    edit(run / "sequences.parquet", "id", lambda _: number, [0])
    for read in readers(run, corpus, tmp_path).values():
        with pytest.raises(LeakscopeError, match=r"sequences\.parquet is"):
            read()


def test_an_honest_run_is_read_by_all(audited, tmp_path):
    for read in readers(*audited, tmp_path).values():
        assert read()


def with_threshold(corpus, out, threshold):
    model = sharp_model("gru", WORDS, 3)
    subject = subject_of(lambda: model.reading(corpus.lexicon))
    audit(subject, corpus, out, ReportSettings(top_k=2, user_threshold=threshold))
    return out


def test_a_run_that_lists_only_sequences_of_few_users_is_read_as_any(audited, tmp_path):
    run, corpus = audited
    some = with_threshold(corpus, tmp_path / "some", 2)
    ids = pq.read_table(some / "sequences.parquet")["id"].to_pylist()
    assert sorted(ids) != list(range(len(ids)))
    assert harden_run(some, corpus, (2.0,)) == harden_run(run, corpus, (2.0,))
    assert suggest(some) == suggest(run)
    lists = [block_list(each, corpus.path, tmp_path / each.name / "l") for each in (some, run)]
    assert lists[0].ngrams == lists[1].ngrams > 0
    assert lists[0].by_length == lists[1].by_length
