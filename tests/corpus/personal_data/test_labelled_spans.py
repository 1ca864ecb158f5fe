"""The benchmark of personal data in labelled mail: its counts, on invented text."""

import json
import sys
from itertools import pairwise

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import labelled_mail, personal_data
from benchmarks.labelled_sample import drawn
from benchmarks.labelled_spans import (
    LabelledText,
    Tally,
    read_labels,
    share,
    summed,
    tally,
    text_digest,
    texts_of,
)
from leakscope.corpus.personal_data.kinds import KINDS, Finding, apart, find_pii
from leakscope.records.errors import LeakscopeError

TEXT = "Ann: ann@example.org, 555-123-4567; 12 Birch Lane, Oakham; order 1234567."


def _of(kind: str, part: str, text: str = TEXT) -> Finding:
    start = text.index(part)
    return Finding(start, start + len(part), kind)


def test_right_missed_cut_and_wrong_are_counted_apart():
    labels = [
        _of("email", "ann@example.org"),
        _of("phone", "555-123-4567"),
        _of("address", "12 Birch Lane, Oakham"),
        _of("birth", "Ann"),
    ]
    findings = [
        _of("email", "ann@example.org"),
        _of("account", "555-123-4567"),  # of the wrong kind, but gone from the text
        _of("address", "12 Birch Lane"),
        _of("phone", "1234567"),
    ]
    assert tally(TEXT, labels, findings) == {
        "email": Tally(labelled=1, found=1, exact=1, reached=1, right=1, removed=1),
        "phone": Tally(labelled=1, found=1, removed=1),
        "address": Tally(labelled=1, found=1, reached=1, right=1),
        "birth": Tally(labelled=1),
        "account": Tally(found=1),
    }


def test_punctuation_that_is_left_is_no_remainder():
    label, finding = Finding(0, 6, "phone"), Finding(1, 5, "phone")
    assert tally("(1234)", [label], [finding])["phone"].removed == 1
    assert tally("(1234)", [label], [Finding(1, 4, "phone")])["phone"].removed == 0


SPANS = st.lists(
    st.tuples(st.integers(0, 25), st.integers(1, 6), st.sampled_from(["a", "b"])).map(
        lambda t: Finding(t[0], t[0] + t[1], t[2])
    )
).map(apart)


@given(SPANS, SPANS)
def test_counts_equal_the_sets_of_characters(labels, findings):
    text = "x" * 40

    def places(spans, kind=None):
        return {n for s in spans if kind in (s.kind, None) for n in range(s.start, s.end)}

    got = tally(text, labels, findings)
    for kind in ("a", "b"):
        mine = [each for each in labels if each.kind == kind]
        found = [each for each in findings if each.kind == kind]
        expected = Tally(
            len(mine),
            len(found),
            sum(each in found for each in mine),
            sum(bool(places([each]) & places(findings, kind)) for each in mine),
            sum(bool(places([each]) & places(labels, kind)) for each in found),
            sum(places([each]) <= places(findings) for each in mine),
        )
        assert got.get(kind, Tally()) == expected


def test_tallies_add_up_by_kind():
    one, two = {"a": Tally(1, 2, 0, 1, 1, 0)}, {"b": Tally(1), "a": Tally(2, 2, 2, 2, 2, 2)}
    assert summed([one, two]) == {"a": Tally(3, 4, 2, 3, 3, 2), "b": Tally(1)}


def test_intervals_are_those_of_clopper_and_pearson():
    assert share(0, 0) == "–"
    assert share(10, 10) == f"1.00 ({0.025 ** (1 / 10):.2f} to 1.00)"
    assert share(0, 20) == f"0.00 (0.00 to {1 - 0.025 ** (1 / 20):.2f})"
    assert share(8, 10) == "0.80 (0.44 to 0.97)"  # as R's binom.test(8, 10)


def test_other_texts_than_the_labelled_ones_are_refused():
    labelled = [LabelledText(1, text_digest("two"), "plain", ())]
    assert texts_of(labelled, ["one", "two"]) == ["two"]
    for rows in (["one", "two "], ["two"], []):
        with pytest.raises(LeakscopeError, match="Row 1 is not the text that was labelled"):
            texts_of(labelled, rows)


def test_the_kept_labels_hold_offsets_and_kinds_only():
    kept = json.loads(labelled_mail.LABELS.read_text())
    assert set(kept) == {"source", "rules", "texts"}
    for each in kept["texts"]:
        assert set(each) == {"row", "digest", "sample", "labels"}
        assert all(
            isinstance(kind, str) and isinstance(start, int) and isinstance(end, int)
            for kind, start, end in each["labels"]
        )
    labelled = read_labels(labelled_mail.LABELS)
    assert len({each.digest for each in labelled}) == len(labelled) == 284
    without_finder = {"notes", "extension", "credential", "birth"}
    assert {label.kind for each in labelled for label in each.labels} <= {*KINDS, *without_finder}
    for each in labelled:
        assert all(0 <= label.start < label.end for label in each.labels)
        assert all(a.end <= b.start for a, b in pairwise(each.labels))
    halves = [each.half for each in labelled]
    assert min(halves.count("development"), halves.count("test")) > 100


def test_the_sample_is_drawn_from_the_seed_and_rich_in_cues():
    texts = [f"nothing to see in {n}" for n in range(300)] + ["x" * 5000]
    texts += [f"ann{n}@example.org" for n in range(40)] * 2
    sample = drawn(texts)
    assert sample == drawn(texts)
    plain = [row for row, name in sample.items() if name == "plain"]
    enriched = [row for row, name in sample.items() if name == "enriched"]
    assert len(plain) == 200
    assert 300 not in sample
    assert len({texts[row] for row in enriched} - {texts[row] for row in plain}) == len(enriched)
    assert all("@" in texts[row] for row in enriched)
    assert 0 < len(enriched) <= 10


def test_a_tag_is_of_the_text_and_not_of_the_joined_words():
    label = _of("phone", "555-123-4567")
    missed = _of("phone", "1234567")
    other = "see www.example.org"
    mail = [
        (
            LabelledText(0, text_digest(other), "plain", (_of("url", "www.example.org", other),)),
            other,
        ),
        (LabelledText(1, text_digest(TEXT), "plain", (label, missed)), TEXT),
    ]
    assert labelled_mail.tags_of_labels(mail) == [("url",), ("phone",), ()]
    assert find_pii("555 - 123 - 4567") == []


def test_the_benchmark_stops_at_a_file_that_was_not_labelled(tmp_path, capsys, monkeypatch):
    pq.write_table(pa.table({"text": [TEXT] * 10}), tmp_path / "data.parquet")
    for path, said in ((tmp_path, "Row 68 is not the text"), (tmp_path / "none", "no file none")):
        monkeypatch.setattr(sys, "argv", ["personal_data", str(path)])
        with pytest.raises(SystemExit) as stopped:
            personal_data.main()
        assert stopped.value.code == 2
        assert said in capsys.readouterr().err
