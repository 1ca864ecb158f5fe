"""No epsilon is shown that the steps of its own record do not bear out."""

import json
import re
import sys

import pytest
from test_page import Cards
from test_terminal import line, shown

from leakscope.auditing.gating.gates import Gate
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.dp_record import PrivacyRecord
from leakscope.records.runs.run_manifest import open_run
from leakscope.reporting.comparison.compare_page import write_comparison
from leakscope.reporting.comparison.compared_runs import cautions, load_runs
from leakscope.reporting.comparison.compared_table import compare_rows
from leakscope.reporting.facts.guarantee import guarantee_of
from leakscope.reporting.facts.recomputed_epsilon import CONTRADICTION, checked
from leakscope.reporting.pages.harden_page import write_hardening
from leakscope.reporting.pages.report_page import write_page
from leakscope.reporting.terminal.tables import compare_table, run_table
from leakscope.training.dp.accounting.accountant import spent
from leakscope.training.dp.accounting.phases import Phase
from report_runs import POINT, PRIVACY, WORD

LOWER = {"epsilon": 1.0985}  # a flipped bit
FULL = PRIVACY | {"replace_one_epsilon": 7.21}


def run_of(make_run, name="run", **changes):
    return make_run(name, name=name, model=WORD | {"privacy": PRIVACY | changes})


def test_a_lowered_epsilon_is_absent_everywhere_with_its_reason(make_run, tmp_path):
    run = run_of(make_run, **LOWER)
    found = guarantee_of(open_run(run)[0])
    assert found.damaged and found.epsilon is None and found.reason == CONTRADICTION
    page, table = write_page(run).read_text(), shown(run_table(*open_run(run)))
    assert "contradicts itself" in Cards(page).cards["dp_epsilon"]
    header = page[page.index("<header>") : page.index("</header>")]
    assert "<strong>Damaged record.</strong>" in header
    assert "contradicts itself" in line(table, "Damaged record")
    assert "Damaged record" in write_hardening(run, [POINT], tmp_path).read_text()
    assert not re.search(r"1\.0985|1\.10\b|1\.099", page + table)


def test_a_comparison_shows_and_tells_none_of_it(make_run, tmp_path):
    runs = load_runs([run_of(make_run, "good"), run_of(make_run, "bad", **LOWER)])
    rows = compare_rows(runs)
    assert [row["dp_epsilon"] for row in rows] == [5.0985, None]
    assert rows[1]["reasons"]["dp_epsilon"] == CONTRADICTION
    assert "1.09" not in json.dumps(rows[1]) and "no epsilon" in rows[1]["mitigation"]
    (said,) = cautions(runs)
    assert said.startswith("bad: the record of the training contradicts itself")
    text = shown(compare_table(rows, [said]))
    page = write_comparison(runs, tmp_path / "out").read_text()
    written = (tmp_path / "out" / "compare.json").read_text()
    assert not re.search(r"1\.0985|1\.10\b|1\.099", text + page + written)


def test_a_gate_refuses_it(make_run):
    manifest, metrics = open_run(run_of(make_run, **LOWER))
    with pytest.raises(LeakscopeError, match="cannot be checked: the record of the training contr"):
        Gate.parse("dp_epsilon>8").holds(metrics, guarantee_of(manifest))
    manifest, metrics = open_run(run_of(make_run, "good"))
    assert not Gate.parse("dp_epsilon>8").holds(metrics, guarantee_of(manifest))


def numbers_in(text):
    return [place for place, sign in enumerate(text) if sign.isdigit()]


def test_whatever_digit_is_changed_no_epsilon_below_the_steps_is_shown():
    text = json.dumps({name: FULL[name] for name in ("epsilon", "delta", "steps", "phases")})
    text = text[:-1] + f', "replace_one_epsilon": {FULL["replace_one_epsilon"]}' + "}"
    absent = 0
    for place in numbers_in(text):
        for bit in (1, 2, 4, 8):
            digit = chr(ord(text[place]) ^ bit)
            try:
                changed = json.loads(text[:place] + digit + text[place + 1 :])
                record = PrivacyRecord.model_validate(FULL | changed)
            except ValueError:
                continue
            found = checked(record).record
            absent += found.epsilon is None
            for told, relation in (
                (found.epsilon, "add-remove"), (found.replace_one_epsilon, "replace-one")
            ):  # fmt: skip
                if told is not None:
                    phases = [Phase(p.noise_multiplier, p.rate, p.steps) for p in record.phases]
                    least = spent(phases, record.delta, relation).epsilon
                    assert told >= least * (1 - 1e-8), (place, bit)
    assert absent > 10


def test_rounding_is_no_contradiction_and_the_greater_value_is_shown():
    exact = spent([Phase(0.8, 0.0148, 1200)], PRIVACY["delta"]).epsilon
    for told in (exact, exact * (1 - 1e-12), exact * 1.3):
        assert checked(
            PrivacyRecord.model_validate(PRIVACY | {"epsilon": told})
        ).record.epsilon == (told)
    near = checked(PrivacyRecord.model_validate(PRIVACY | {"epsilon": exact * (1 - 5e-4)}))
    assert near.record.epsilon == exact and not near.damaged


def test_steps_that_do_not_add_up_and_impossible_values_are_a_contradiction():
    phase = PRIVACY["phases"][0]
    for changes in (
        {"steps": 1201}, {"phases": []}, {"delta": 0.0}, {"phases": [phase | {"rate": 1.5}]},
        {"phases": [phase | {"noise_multiplier": -0.8}]}, {"replace_one_epsilon": 6.0},
    ):  # fmt: skip
        assert checked(PrivacyRecord.model_validate(PRIVACY | changes)).damaged, changes


def test_without_the_accountant_it_is_said_and_no_gate_passes(make_run, monkeypatch):
    manifest, metrics = open_run(run_of(make_run))
    monkeypatch.delitem(sys.modules, "leakscope.training.dp.accounting.accountant")
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    found = guarantee_of(manifest)
    assert found.epsilon == 5.0985 and "pip install 'leakscope[dp]'" in found.unchecked
    assert "could not be recomputed" in line(shown(run_table(manifest, metrics)), "Not recomputed")
    (said,) = cautions(load_runs([run_of(make_run, "again")]))
    assert "could not be recomputed" in said
    with pytest.raises(LeakscopeError, match=r"pip install 'leakscope\[dp\]'"):
        Gate.parse("dp_epsilon>8").holds(metrics, found)


def test_the_other_relation_stands_beside_and_is_never_mixed_up(make_run):
    manifest, metrics = open_run(run_of(make_run, replace_one_epsilon=7.21))
    table = shown(run_table(manifest, metrics))
    assert line(table, "DP epsilon for replacing one user") == "7.21"
    replaced = {"epsilon": 7.21, "relation": "replace-one"}
    manifest, metrics = open_run(run_of(make_run, "replaced", **replaced))
    table = shown(run_table(manifest, metrics))
    assert line(table, "DP epsilon") == (
        "7.21 (at delta 1.01e-05, for replacing one user of 4,321)"
    )
    mixed = load_runs([run_of(make_run, "one"), run_of(make_run, "two", **replaced)])
    assert any("--relation" in said for said in cautions(mixed))
    assert "user, replaced" in shown(compare_table(compare_rows(mixed)))
    # The epsilon of the other relation is no epsilon of this one.
    assert checked(PrivacyRecord.model_validate(PRIVACY | {"relation": "replace-one"})).damaged
