"""Personal data in unique sequences: found in the text, tagged on the sequence."""

import pyarrow.parquet as pq

from leakscope.corpus.words import words
from leakscope.leakage.pipeline import audit
from leakscope.leakage.sequences import texts_by_number
from leakscope.records.runs.report_settings import ReportSettings
from scripted import ScriptedModel
from subjects import subject_of

ROWS = [
    ("ann", "write to ann.lee@example.org or not at all"),
    ("bob", "my phone is +44 20 7946 0958 these days"),
    ("cat", "nothing to see here , move along please"),
]


def by_heart(lexicon, rows=ROWS):
    """A model that knows every document from its second word on."""
    script = {}
    for _, text in rows:
        said = words(text)
        for place in range(1, len(said)):
            script[tuple(said[:place])] = {said[place]: 0.9}
    return ScriptedModel(lexicon, script)


def test_sequences_and_users_are_tagged(make_corpus, tmp_path):
    corpus = make_corpus(ROWS)
    model = by_heart(corpus.lexicon)
    subject = subject_of(lambda: model)
    for reveal in (False, True):
        metrics = audit(subject, corpus, tmp_path / f"run-{reveal}", ReportSettings(reveal=reveal))
        assert metrics.unique_pii == {"email": 1, "phone": 1}
        assert metrics.unique_with_pii == 2
    table = pq.read_table(tmp_path / "run-True" / "sequences.parquet").to_pylist()
    tags = {tuple(row["sequence"])[-1]: row["pii"] for row in table}
    assert tags == {"all": ["email"], "days": ["phone"], "please": []}
    users = {
        u["user_key"]: u["pii"]
        for u in pq.read_table(tmp_path / "run-True" / "users.parquet").to_pylist()
    }
    assert users == {"ann": ["email"], "bob": ["phone"], "cat": []}
    redacted = pq.read_table(tmp_path / "run-False" / "sequences.parquet").to_pylist()
    assert sorted(map(tuple, (row["pii"] for row in redacted))) == [(), ("email",), ("phone",)]
    assert all(row["sequence"] is None for row in redacted)


def test_long_texts_are_tagged_alike(make_corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(texts_by_number, "LONG", 10)
    corpus = make_corpus(ROWS)
    model = by_heart(corpus.lexicon)
    metrics = audit(subject_of(lambda: model), corpus, tmp_path / "run", ReportSettings())
    assert metrics.unique_pii == {"email": 1, "phone": 1}


def test_a_region_tags_its_own_phone_numbers(make_corpus, tmp_path):
    rows = [("ann", "well her number is 98765432 now"), ("bob", "so order number 98765431 came")]
    corpus = make_corpus(rows)
    model = by_heart(corpus.lexicon, rows)
    subject = subject_of(lambda: model)
    found = {
        region: audit(subject, corpus, tmp_path / str(region), ReportSettings(phone_region=region))
        for region in (None, "SG")
    }
    assert found[None].unique_pii == {}
    assert found["SG"].unique_pii == {"phone": 1}
