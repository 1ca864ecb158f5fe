"""Disparate impact: drops by hand, intervals, who is absent, and where it is shown."""

import json
import math
import re

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from leakscope.records.artifacts import write_parquet
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.validation_document_columns import FILE, validation_documents_schema
from leakscope.reporting.comparison.compare_page import write_comparison
from leakscope.reporting.comparison.compared_runs import load_runs
from leakscope.reporting.comparison.disparate_impact import disparate_impact
from leakscope.reporting.comparison.impact_section import curve
from leakscope.reporting.terminal.impact_table import impact_table
from report_runs import WORD, user

MILD = {"kind": "triplet", "privacy_weight": 1.0}


@pytest.fixture
def impact_runs(make_run):
    """A function that writes a plain run and others; `costs` are -log p by user and document."""

    def make(costs, others, documents, words=10, mitigation=MILD):
        users = [user(at, 0, None) | {"documents": n} for at, n in documents.items()]
        paths = []
        for name, found in {"plain": costs, **others}.items():
            model = WORD if name == "plain" else WORD | {"mitigation": mitigation}
            path = make_run(name, name=name, users=users, model=model)
            rows = [
                {"user": who, "document": 100 * who + at, "words": words, "log_prob": -cost}
                for who, listed in found.items()
                for at, cost in enumerate(listed)
            ]
            table = pa.Table.from_pylist(rows, schema=validation_documents_schema())
            write_parquet(path / FILE, table)
            paths.append(path)
        return load_runs(paths)

    return make


def drawn(users=12, seed=0, worse=lambda who: 0.0):
    rng = np.random.default_rng(seed)
    plain = {who: (rng.normal(40, 4, 6)).clip(1).tolist() for who in range(users)}
    other = {who: [cost + 10 * worse(who) for cost in plain[who]] for who in plain}
    return plain, other


def test_drops_are_differences_of_perplexities_by_hand(impact_runs):
    plain = {1: [10 * math.log(2), 10 * math.log(8)], 2: [10 * math.log(3)] * 2}
    other = {1: [10 * math.log(4), 10 * math.log(8)], 2: [10 * math.log(5)] * 2}
    runs = impact_runs(plain, {"quiet": other}, {1: 7, 2: 3, 3: 9})
    found = disparate_impact(runs)
    assert found.baseline == "plain"
    (impact,) = found.impacts
    # User 1: sqrt(4 * 8) - sqrt(2 * 8); user 2, who has fewer documents: 5 - 3.
    assert impact.users.tolist() == [2, 1] and impact.documents.tolist() == [3, 7]
    assert impact.drops == pytest.approx([2.0, math.sqrt(32) - 4])
    assert impact.absent == 1, "user 3 has no validation words"
    assert impact.gap(5).value == pytest.approx(2 - (math.sqrt(32) - 4))
    assert impact.over(np.array([0])).low == pytest.approx(2.0), "its documents are alike"
    # Drawn with replacement: twice the first, twice the second, or both.
    ends = impact.over(np.array([1]))
    assert ends.low == pytest.approx(0.0) and ends.high == pytest.approx(2.0)


def test_the_baseline_is_the_plain_run_wherever_it_stands(impact_runs):
    plain, other = drawn()
    runs = impact_runs(plain, {"quiet": other}, dict.fromkeys(plain, 3))
    assert disparate_impact(runs[::-1]).baseline == "plain"


def test_intervals_cover_the_truth(impact_runs):
    """Users whose documents vary around a known drop: about 95% of intervals hold it."""
    rng, covered = np.random.default_rng(0), []
    plain = {who: [10 * math.log(20)] * 25 for who in range(60)}
    noisy = {who: (10 * math.log(30) + rng.normal(0, 1, 25)).tolist() for who in plain}
    runs = impact_runs(plain, {"quiet": noisy}, dict.fromkeys(plain, 3))
    (impact,) = disparate_impact(runs).impacts
    for place in range(60):
        drop = impact.over(np.array([place]))
        covered.append(drop.low <= 10.0 <= drop.high)
    assert 50 <= sum(covered) <= 60


def test_those_with_few_documents_who_lose_more_show_as_a_gap(impact_runs):
    plain, other = drawn(worse=lambda who: 0.3 if who < 5 else 0.05)
    runs = impact_runs(plain, {"quiet": other}, {who: 1 + who for who in plain})
    (impact,) = disparate_impact(runs).impacts
    gap = impact.gap(5)
    assert gap.low > 5 and gap.low < gap.value < gap.high
    assert impact.gap(100).users == 12, "at most half of all in each group"
    assert len(curve(impact)) == 12


def test_a_single_document_has_no_interval(impact_runs):
    plain, other = {1: [30.0], 2: [31.0, 35.0]}, {1: [33.0], 2: [34.0, 36.0]}
    runs = impact_runs(plain, {"quiet": other}, {1: 1, 2: 2})
    (impact,) = disparate_impact(runs).impacts
    assert impact.over(np.array([0])).low is None and impact.gap(1).high is None
    assert impact.over(np.array([1])).low is not None


def test_where_there_is_nothing_to_compare_there_is_no_section(impact_runs, make_run, tmp_path):
    plain, other = drawn()
    runs = impact_runs(plain, {"quiet": other}, dict.fromkeys(plain, 3))
    assert disparate_impact(runs[:1]) is None
    bare = load_runs([make_run("bare", name="bare")])
    assert disparate_impact([runs[0], *bare]) is None
    assert disparate_impact([*runs, *bare]).unmeasured == ["bare"]
    page = write_comparison([runs[0], *bare], tmp_path / "out").read_text()
    assert "Disparate impact" not in page
    assert "disparate_impact" not in json.loads((tmp_path / "out" / "compare.json").read_text())


def test_it_is_a_section_a_figure_a_table_and_json(impact_runs, tmp_path):
    plain, other = drawn(80, worse=lambda who: 0.2)
    known = dict.fromkeys([*plain, 99], 3)
    runs = impact_runs(plain, {"quiet <i>": other}, known)
    page = write_comparison(runs, tmp_path / "out", 7).read_text()
    assert "Disparate impact of quiet &lt;i&gt;" in page and "7 users with most documents" in page
    (drawing,) = re.findall(r"<svg[^>]*impact-0-title.*?</svg>", page, re.DOTALL)
    assert drawing.count("<circle") == 60, "users are gathered"
    told = json.loads((tmp_path / "out" / "compare.json").read_text())["disparate_impact"]
    (row,) = told["runs"]
    assert told["baseline"] == "plain" and row["absent_users"] == 1 and row["users"] == 80
    assert len(row["by_user"]) == 80 and row["gap"]["low"] < row["gap"]["drop"]
    console = Console(width=250, record=True)
    console.print(impact_table(disparate_impact(runs), 7))
    text = console.export_text()
    assert "Disparate impact against plain" in text and "7 with fewest" in text


@pytest.mark.parametrize(
    "rows",
    [
        [{"user": 1, "document": 1, "words": 0, "log_prob": -1.0}],
        [{"user": 1, "document": 1, "words": 3, "log_prob": None}],
        [{"user": 1, "document": 1, "words": 3, "log_prob": math.nan}],
        [{"user": 1, "document": 1, "words": 3, "log_prob": -1.0}] * 2,
    ],
)
def test_a_table_that_cannot_be_is_refused(impact_runs, rows):
    plain, other = drawn()
    runs = impact_runs(plain, {"quiet": other}, dict.fromkeys(plain, 3))
    table = pa.Table.from_pylist(rows, schema=validation_documents_schema())
    write_parquet(runs[1].path / FILE, table)
    with pytest.raises(LeakscopeError, match="damaged"):
        disparate_impact(runs)
