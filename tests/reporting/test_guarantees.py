import json
import re

import pytest
from test_page import ATTACK
from test_terminal import line, shown

from leakscope.reporting.comparison.compare_page import write_comparison
from leakscope.reporting.comparison.compared_runs import cautions, load_runs
from leakscope.reporting.comparison.compared_table import compare_rows, missing
from leakscope.reporting.terminal.tables import compare_table
from report_runs import PRIVACY, WORD


@pytest.fixture
def runs_of(make_run):
    """A function from names and changes of the record (None: no record) to opened runs."""

    def make(**models):
        paths = []
        for name, changes in models.items():
            model = WORD if changes is None else WORD | {"privacy": PRIVACY | changes}
            paths.append(make_run(name, name=name, model=model))
        return load_runs(paths)

    return make


def test_rows_have_the_whole_record_and_reasons(runs_of):
    plain, private = compare_rows(runs_of(plain=None, private={}))
    names = ("dp_epsilon", "dp_delta", "dp_unit", "privacy")
    assert [plain[name] for name in names] == [None] * 4
    assert plain["reasons"]["dp_epsilon"] == "none: trained without differential privacy"
    assert [private[name] for name in names] == [5.0985, 1.01e-05, "user", PRIVACY]
    assert "dp_epsilon" not in private["reasons"]
    json.dumps([plain, private], allow_nan=False)


def test_columns_appear_where_a_model_is_private(runs_of, tmp_path):
    runs = runs_of(plain=None, private={}, silent={"epsilon": None, "reason": "No noise."})
    text = shown(compare_table(compare_rows(runs)))
    assert line(text, "plain").split()[-3:] == ["–", "–", "–"]
    assert line(text, "private").split()[-3:] == ["5.10", "1.01e-05", "user"]
    assert line(text, "silent").split()[-3:] == ["–", "1.01e-05", "user"]
    assert "DP epsilon: none: trained without differential privacy (plain)" in text
    assert "DP epsilon: No noise (silent)" in text and "DP delta:" not in text
    page = write_comparison(runs, tmp_path / "out").read_text()
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>.*?</tr>", page)]
    assert [cells[-3:] for cells in rows[1:4]] == [
        ["–", "–", "–"], ["5.10", "1.01e-05", "user"], ["–", "1.01e-05", "user"]
    ]  # fmt: skip
    assert "The two cannot be compared" in page
    plain = json.loads((tmp_path / "out" / "compare.json").read_text())
    assert [row["dp_epsilon"] for row in plain["runs"]] == [None, 5.0985, None]


def test_without_any_private_model_there_is_a_line_and_no_column(runs_of, tmp_path):
    runs = runs_of(one=None, other=None)
    assert "DP epsilon: none: trained without differential privacy" in missing(compare_rows(runs))
    page = write_comparison(runs, tmp_path / "out").read_text()
    assert "DP delta" not in page and 'id="privacy"' not in page
    assert "– DP epsilon: none: trained without differential privacy<" in page


@pytest.mark.parametrize(
    ("other", "word"),
    [
        ({"insecure_seed": True}, "seed"),
        ({"units": 9}, "guarantees nothing"),
        ({"unit": "document"}, "units"),
        ({"delta": 1e-9, "epsilon": 9.0}, "delta"),
        ({"relation": "replace-one", "epsilon": 9.0}, "--relation"),
    ],
)
def test_what_makes_guarantees_not_compare_is_a_caution(runs_of, tmp_path, other, word):
    runs = runs_of(one={}, other=other)
    (said,) = cautions(runs)
    assert word in said
    assert said.startswith("other: ") == (word in ("seed", "guarantees nothing"))
    page = write_comparison(runs, tmp_path / "out").read_text()
    assert f"<strong>Caution.</strong> {said}" in page
    assert said in json.loads((tmp_path / "out" / "compare.json").read_text())["warnings"]
    assert f"Warning: {said}" in shown(compare_table(compare_rows(runs), [said]))


def test_alike_guarantees_and_missing_ones_need_no_caution(runs_of):
    unbounded = {"epsilon": None, "reason": "No noise.", "unit": "document", "delta": 0.5}
    assert cautions(runs_of(one={}, two={"epsilon": 7.0}, plain=None, unbounded=unbounded)) == []


def test_a_void_epsilon_is_marked_in_its_cell(runs_of):
    text = shown(compare_table(compare_rows(runs_of(one={"insecure_seed": True}))))
    assert "5.10 (insecure)" in line(text, "one")


def test_accountants_and_caveats_name_the_models_where_they_differ(runs_of, tmp_path):
    runs = runs_of(
        plain=None,
        one={"caveats": ["All have it.", "The end."]},
        two={"caveats": ["Grave.", "All have it.", "The end."], "accountant": "RDP"},
    )
    told = ["Grave. (two)", "All have it.", "The end."]
    text = shown(compare_table(compare_rows(runs)))
    assert re.findall(r"Not covered by DP: (.*?) *\n", text) == told
    assert re.findall(r"DP accountant: (.*?) *\n", text) == [
        "PLD (some 1.0), add/remove one user (one)", "RDP (two)"
    ]  # fmt: skip
    page = write_comparison(runs, tmp_path / "out").read_text()
    assert re.findall(r'<ul class="caveats">(.*?)</ul>', page, re.S)[0].split("\n")[1:-1] == [
        f"<li>{caveat}</li>" for caveat in told
    ]
    section = page[page.index('id="privacy"') :]
    first = re.findall(r"<td[^>]*>(.*?)</td>", section)[:7]
    assert first == [
        "PLD (some 1.0), add/remove one user", "4,321 users", "0.8", "0.5", "0.0148",
        "1,200, including 200 that a crash lost", "2.10",
    ]  # fmt: skip


def test_what_records_say_can_neither_be_markup_nor_steer(runs_of, tmp_path):
    evil = f"{ATTACK}\x1b[2J\u202e"
    runs = runs_of(
        one={"accountant": evil, "caveats": [evil]}, two={"epsilon": None, "reason": evil}
    )
    page = write_comparison(runs, tmp_path / "out").read_text()
    assert "<img" not in page and page.count("&lt;img src=x") >= 3
    text = shown(compare_table(compare_rows(runs), cautions(runs)))
    assert not set("\x1b\u202e") & set(page + text)
