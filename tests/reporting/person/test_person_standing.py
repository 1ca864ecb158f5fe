"""Persons of whom nothing came out, and those whom the model was not asked about."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakscope
from leakscope.auditing.users.chosen_users import record_of
from leakscope.corpus.user_keys import numbers_of
from leakscope.leakage.pipeline import audit
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.reporting.person.person_csv import neutral
from scripted import ScriptedModel
from subjects import subject_of

ROWS = [
    ("ann", "code = 1 beta"),
    ("ann", "code = 1 beta"),
    ("bob", "code gamma delta"),
    ("cid", "code ="),
    ("dot", "epsilon zeta"),
]
SCRIPT = {
    (): {"code": 0.9},
    ("code",): {"=": 0.9},
    ("code", "="): {"1": 0.9},
}


@pytest.fixture
def report(make_corpus, tmp_path):
    """A function that reports on some users by their keys, or on all; on paper:
    ann: "code = 1" twice, unique, of 8 words. bob: "code", which all but dot have. cid: "code =",
    which ann has too. dot: nothing.
    """
    corpus = make_corpus(ROWS)
    model = ScriptedModel(corpus.lexicon, SCRIPT)

    def make(keys=None, reveal=True, confidence=None):
        users = None
        if keys is not None:
            users = np.array(sorted(numbers_of(corpus, keys).values()), np.int32)
        subject = replace(subject_of(lambda: model), users=users)
        settings = ReportSettings(reveal=reveal, audited=record_of(users), confidence=confidence)
        out = tmp_path / "run"
        audit(subject, corpus, out, settings)
        return out, corpus.path

    return make


def figures(found):
    return found.occurrences, found.unique_sequences, found.predicted_words, found.unique_words


def test_how_much_comes_out_as_worked_out_on_paper(report, tmp_path):
    run, _ = report()
    ann = leakscope.person(run, tmp_path / "ann", user="ann")
    assert (ann.standing, ann.words, figures(ann)) == ("audited", 8, (2, 1, 6, 6))
    assert ann.predicted_share == ann.unique_share == 6 / 8 and ann.reasons == {}
    assert "1 sequence out of this model that nobody else has. It holds 6 (75.0 %)" in ann.summary
    (row,) = ann.sequences
    assert row["sequence"] == ["code", "=", "1"] and row["contexts"] == [[], []]
    assert row["unique"] and row["occurrences"] == 2


def test_nothing_of_their_own_and_nothing_at_all_are_told_apart(report, tmp_path):
    run, _ = report()
    cid = leakscope.person(run, tmp_path / "cid", user="cid")
    assert figures(cid) == (1, 0, 2, 0) and cid.unique_share == 0.0
    assert cid.summary.startswith("Nothing that only this user has came out under this attack.")
    assert "It had 2 (100.0 %) of them as its best suggestion" in cid.summary
    (row,) = cid.sequences
    assert not row["unique"] and row["users_in_d"] == 2 and row["contexts"] is None
    dot = leakscope.person(run, tmp_path / "dot", user="dot")
    assert figures(dot) == (0, 0, 0, 0) and dot.sequences == []
    assert dot.summary == (
        "Nothing of this user came out under this attack. The model was asked about all of their "
        "2 words of training text, and had none of them as its best suggestion."
    )
    assert dot.summary in (tmp_path / "dot" / "person.html").read_text()


def test_what_comes_out_through_an_interface_is_not_said_of_the_model(report, tmp_path):
    run, _ = report(confidence=1.2)  # which hides nothing here, and could have
    through = (
        "Through an interface that stays silent where 1/p of its best suggestion exceeds 1.2, "
    )
    said = {
        "ann": "an attacker who knows how this user's texts begin can draw 1 sequence out of",
        "cid": "nothing that only this user has came out under this attack. The interface was "
        "asked about all of their 2 words of training text. It showed 2 (100.0 %) of them as",
        "dot": "nothing of this user came out under this attack. The interface was asked about "
        "all of their 2 words of training text, and showed none of them as its best suggestion.",
    }
    for user, first in said.items():
        found = leakscope.person(run, tmp_path / user, user=user)
        assert found.summary.startswith(through + first)


def test_who_was_not_audited_is_not_told_that_nothing_came_out(report, tmp_path):
    run, corpus = report(["bob"])
    with pytest.raises(LeakscopeError, match="no audited user with this key; give the corpus"):
        leakscope.person(run, tmp_path / "x", user="ann")
    ann = leakscope.person(run, tmp_path / "ann", user="ann", corpus=corpus)
    assert ann.standing == "not audited" and (ann.documents, ann.words) == (2, 8)
    assert figures(ann) == (None,) * 4 and ann.predicted_share is ann.unique_share is None
    assert ann.reasons["unique_share"] == "the report was about other users"
    assert "was not audited" in ann.summary and "came out" not in ann.summary
    page = (tmp_path / "ann" / "person.html").read_text()
    assert "was not audited" in page and "Words that come out" not in page
    bob = leakscope.person(run, tmp_path / "bob", user="bob")
    assert bob.standing == "audited" and bob.notices[0].startswith("Only 1 of 4 users")


def test_who_has_no_training_documents(make_corpus, tmp_path):
    rows = [(f"u{n}", "code = 1 beta") for n in range(20)]
    corpus = make_corpus(rows, validation=0.5, split_by="user")
    model = ScriptedModel(corpus.lexicon, SCRIPT)
    audit(subject_of(lambda: model), corpus, tmp_path / "run", ReportSettings(reveal=True))
    trained = set(corpus.load().users.tolist())
    held = next(n for n in range(20) if n not in trained)
    with pytest.raises(LeakscopeError, match="give the corpus"):
        leakscope.person(tmp_path / "run", tmp_path / "x", number=held)
    found = leakscope.person(tmp_path / "run", tmp_path / "x", number=held, corpus=corpus.path)
    assert found.standing == "not trained on" and found.words == 0 and found.occurrences is None
    assert "no training documents" in found.summary and "came out" not in found.summary
    assert found.reasons["predicted_share"] == "the user has no training documents"
    everybody = subject_of(lambda: model)
    asked = ReportSettings(reveal=True, trained_on="all")
    audit(everybody, corpus, tmp_path / "all", asked)
    assert leakscope.person(tmp_path / "all", tmp_path / "y", number=held).standing == "audited"


def test_who_is_unknown(report, make_corpus, tmp_path):
    run, corpus = report(reveal=False)
    for options, said in (
        ({"user": "eve", "corpus": corpus}, "no user with this key"),
        ({"user": "ann"}, "redacted and has no user keys"),
        ({"number": 99}, "no audited user 99; give the corpus"),
        ({"number": 99, "corpus": corpus}, "no user 99"),
        ({"number": -1}, "from 0 on"),
        ({"number": 1 << 31}, "from 0 on"),
        ({"number": 1, "user": "ann"}, "either --user or --number"),
        ({}, "either --user or --number"),
        ({"user": "ann", "corpus": make_corpus([("ann", "a b")]).path}, "another corpus"),
    ):
        with pytest.raises(LeakscopeError, match=said):
            leakscope.person(run, tmp_path / "x", **options)
        assert not (tmp_path / "x").exists()


def test_what_a_model_at_chance_gives_is_no_finding(report, tmp_path):
    run, _ = report()
    metrics = json.loads((run / "metrics.json").read_text())
    metrics["warnings"] = ["The model knows nothing."]
    (run / "metrics.json").write_text(json.dumps(metrics))
    from resealed import reseal

    reseal(run)
    found = leakscope.person(run, tmp_path / "dot", user="dot")
    assert found.summary.endswith("The model knows nothing.")
    assert "Nothing was measured" in (tmp_path / "dot" / "person.html").read_text()


def test_no_cell_of_the_table_is_a_formula(make_corpus, tmp_path):
    corpus = make_corpus([("ann", "= HYPERLINK ( 1 ) ; = 2"), ("bob", "plain")])
    script = {(): {"=": 0.9}, ("=",): {"HYPERLINK": 0.9}}
    model = ScriptedModel(corpus.lexicon, script)
    audit(subject_of(lambda: model), corpus, tmp_path / "run", ReportSettings(reveal=True))
    leakscope.person(tmp_path / "run", tmp_path / "ann", user="ann")
    text = (tmp_path / "ann" / "person.csv").read_bytes().decode("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(text))
    assert row["sequence"] == "'= HYPERLINK"
    assert not [cell for cell in row.values() if cell.startswith(tuple("=+-@\t\r"))]


@given(st.text(max_size=9) | st.text(st.sampled_from("=+-@\t\r\n＝a '"), max_size=4))
def test_a_neutral_text_begins_no_formula_and_loses_nothing(text):
    made = neutral(text)
    assert not made.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))
    assert made in (text, f"'{text}") and (made == text or text[0] not in "abc '")
