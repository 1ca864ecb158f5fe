"""A run whose tables contradict each other or the corpus is refused by all that read it back."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leakscope.auditing.block_list_building import block_list
from leakscope.leakage.hardening.actions import suggest
from leakscope.leakage.hardening.hardened_points import harden_run
from leakscope.leakage.pipeline import audit
from leakscope.records.block_lists.block_list_file import SALT_BYTES
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.tables import table_batches
from small_models import repeated_by, sharp_model
from subjects import subject_of

WORDS = ["a", "b", "c", "d", "e", "f", "g"]


@pytest.fixture
def report(make_corpus, tmp_path):
    """A function that reports on a corpus; perhaps only on sequences of few users."""
    model = sharp_model("gru", WORDS, 3)
    corpus = make_corpus(repeated_by(model, 5, 40, 16))
    subject = subject_of(lambda: model.reading(corpus.lexicon))

    def make(name, threshold=None):
        settings = ReportSettings(top_k=2, user_threshold=threshold)
        metrics = audit(subject, corpus, tmp_path / name, settings)
        assert (metrics.below_threshold < metrics.sequences) is (threshold is not None)
        return tmp_path / name, corpus

    return make


@pytest.fixture(params=[None, 4], ids=["all", "of three users at most"])
def audited(request, report):
    """A run and its corpus."""
    return report("run", request.param)


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


def readers(run, corpus, tmp_path, file="list"):
    def blocked():
        summary = block_list(run, corpus.path, tmp_path / file, salt=bytes(SALT_BYTES))
        return replace(summary, path=None), (tmp_path / file).read_bytes()

    return {
        "harden": lambda: harden_run(run, corpus, (2.0,)),
        "suggest": lambda: suggest(run),
        "block list": blocked,
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
def test_unique_sequences_are_numbered_without_gaps(audited, tmp_path, number):
    run, corpus = audited
    edit(run / "sequences.parquet", "id", lambda _: number, [0])
    for read in readers(run, corpus, tmp_path).values():
        with pytest.raises(LeakscopeError, match=r"sequences\.parquet is"):
            read()


@pytest.mark.parametrize("number", [-1, 2**31 - 1, None, 0])
def test_others_have_numbers_of_their_own(audited, tmp_path, number):
    run, corpus = audited
    users = pq.read_table(run / "sequences.parquet")["users_in_d"].to_pylist()
    shared = [row for row, count in enumerate(users) if count > 1]
    if not shared:
        return  # nothing else is listed
    edit(run / "sequences.parquet", "id", lambda _: number, shared[-1:])
    for read in readers(run, corpus, tmp_path).values():
        with pytest.raises(LeakscopeError, match=r"sequences\.parquet is"):
            read()


@pytest.mark.parametrize("row", [0, -1])
def test_none_may_be_missing(audited, tmp_path, row):
    run, corpus = audited
    path = run / "sequences.parquet"
    table = pq.read_table(path)
    gone = row % len(table)
    pq.write_table(pa.concat_tables([table.slice(0, gone), table.slice(gone + 1)]), path)
    for read in readers(run, corpus, tmp_path).values():
        with pytest.raises(LeakscopeError, match=r"sequences\.parquet is"):
            read()


@pytest.mark.parametrize("threshold", [2, 3, 4])
def test_an_honest_run_is_read_by_all(report, tmp_path, threshold):
    """What a filter leaves out is not unique, so it changes nothing of what they say."""
    whole = readers(*report("whole"), tmp_path, "other")
    for name, read in readers(*report("run", threshold), tmp_path).items():
        found = read()
        assert found
        assert found == whole[name]()


def test_it_is_read_in_batches(audited, tmp_path, monkeypatch):
    run, corpus = audited
    wanted = {name: read() for name, read in readers(run, corpus, tmp_path).items()}
    monkeypatch.setattr(table_batches, "ROWS", 7)
    for name, read in readers(run, corpus, tmp_path, "again").items():
        assert read() == wanted[name]
