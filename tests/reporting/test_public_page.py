"""What the pages say of public models, least contexts, personal data and hardening."""

import pytest
from rich.console import Console

from leakscope.reporting.comparison.compare_page import write_comparison
from leakscope.reporting.comparison.compared_runs import cautions, load_runs
from leakscope.reporting.comparison.compared_table import compare_rows
from leakscope.reporting.pages.harden_page import cell, write_hardening
from leakscope.reporting.pages.report_page import write_page
from leakscope.reporting.rows.listing import gravest, sequence_of, unique_by_user
from leakscope.reporting.terminal.tables import compare_table, hardening_table, suggestion_tables
from report_runs import METRICS, POINT, PUBLIC, judged_rows, user


def test_the_page_ranks_by_what_matters_and_names_the_worst(make_run):
    users = [user(3, 1, "ada") | {"largest_ratio": 77.0, "least_context": 1, "pii": ["phone"]}]
    run = make_run(rows=judged_rows(), users=users, public=PUBLIC, **METRICS)
    assert [row.words for row in gravest(run, 10, revealed=True)] == [
        ("purple", "giraffe"), ("the", "quick", "zebra", "sleeps"), ("ninety", "okapis"),
    ]  # fmt: skip
    assert len(gravest(run, 2, revealed=True)) == 2
    text = write_page(run).read_text()
    ranked = text[text.index("What to look at first") :]
    order = [ranked.index(words) for words in ("purple giraffe", "quick zebra", "ninety okapis")]
    assert order == sorted(order)
    public = text[text.index("Against a public model") : text.index("What to look at first")]
    assert "purple giraffe" in public and "77" in public and "(crossfit-5)" in public
    assert "gives away <strong>6</strong>" in public and "does not know" in public
    assert text.count(">phone</span>") >= 3  # ranked, listed, and the user


def test_a_redacted_page_ranks_without_words(make_run):
    rows = judged_rows(revealed=False)
    run = make_run(rows=rows, revealed=False, public=PUBLIC, **METRICS)
    text = write_page(run).read_text()
    assert "What to look at first" in text and "(withheld)" in text
    assert not [word for word in ("giraffe", "okapis", "zebra") if word in text]
    assert sequence_of(run, 1, revealed=False).words is None
    assert sequence_of(run, 99, revealed=False) is None


def test_without_a_public_model_the_page_says_why(make_run):
    text = write_page(make_run()).read_text()
    assert "Against a public model" not in text and "Easiest" not in text
    assert "why leakage_epsilon is null" in text


def test_unique_sequences_over_users(make_run):
    users = [user(1, 2, None), user(2, 0, None), user(3, 7, None)]
    assert unique_by_user(make_run(users=users)).tolist() == [7, 2]


def test_comparing_warns_of_different_judges_and_shows_the_benchmark(make_run, tmp_path):
    make_run("a", rows=judged_rows(), public=PUBLIC, name="one", **METRICS)
    warned = PUBLIC | {"digests": ["d3"], "warnings": ["It has seen them."]}
    make_run("b", rows=judged_rows(), public=warned, name="two")
    runs = load_runs([tmp_path / "a", tmp_path / "b"])
    told = cautions(runs)
    assert "different public models" in told[0] and told[1] == "two: It has seen them."
    text = write_comparison(runs, tmp_path / "out").read_text()
    assert "Public model&#39;s own unique" in text and "different public models" in text
    console = Console(width=300, record=True)
    console.print(compare_table(compare_rows(runs), told))
    assert "own unique" in console.export_text()
    assert cautions(load_runs([tmp_path / "a"])) == []


def test_hardening_is_drawn_and_tabled(make_run, tmp_path):
    points = [POINT, POINT | {"threshold": None, "unique_sequences": 4000, "answered": 1.0}]
    text = write_hardening(make_run(), points, tmp_path).read_text()
    assert "1,234" in text and "never" in text and "<svg" in text
    assert cell(POINT, "answered") == "50.00" and cell(POINT, "leakage_epsilon") == "–"
    console = Console(width=200, record=True)
    console.print(hardening_table(points))
    assert "1,234" in console.export_text()
    blind = [point | {"validation_accuracy": None, "answered": None} for point in points]
    text = write_hardening(tmp_path / "run", blind, tmp_path).read_text()
    assert "no answers on validation words" in text and "<svg" not in text


@pytest.mark.parametrize("total", [0, 9])
def test_the_action_list_is_tabled(total):
    found = {
        "interface": None, "unique_sequences": total, "documents_for_all": 4, "copied_sequences": 1,
        "documents": [{"document": 17, "file": 2, "row": 4711, "user": 3, "sequences": 5,
                       "alone": 2, "gone_so_far": 2}],
        "users": [{"user": 3, "unique_sequences": 5, "largest_ratio": None,
                   "least_context": 0, "pii": ["email"]}],
        "without_origins": None,
        "copies": [{"sequence": 8, "words": None, "length": 6, "user": 3, "times": 12,
                    "documents": 12}],
    }  # fmt: skip
    console = Console(width=120, record=True)
    console.print(suggestion_tables(found))
    text = console.export_text()
    if not total:
        assert "nothing to do" in text
    else:
        assert "2 of 9" in text and "email" in text and "#8" in text and "4 documents" in text
        assert "input 2" in text and "4,711" in text
