import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_page import ATTACK, Cards
from test_terminal import line, shown

from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.run_manifest import open_run
from leakscope.reporting.facts.guarantee import guarantee_of
from leakscope.reporting.facts.values import bound, thousands
from leakscope.reporting.pages.harden_page import write_hardening
from leakscope.reporting.pages.report_page import write_page
from leakscope.reporting.terminal.tables import run_table
from report_runs import CAUSAL, ENDPOINT, POINT, PRIVACY, WORD

INSECURE = "no guarantee against anybody who may know it"


def private(**changes):
    return WORD | {"privacy": PRIVACY | changes}


@given(st.floats(min_value=0, max_value=1e12))
def test_bounds_are_rounded_up_and_by_little(value):
    told = float(bound(value).replace(",", ""))
    assert value <= told <= max(1.01 * value, 5e-324)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (4.991, "5.00"), (3.0, "3.00"), (3.0001, "3.01"), (0.99999, "1"), (0.001, "0.001"),
     (8.1, "8.10"), (0.12301, "0.124"), (1.2301e-6, "1.24e-06"), (1234.2, "1,235")],
)  # fmt: skip
def test_bounds_as_written(value, text):
    assert bound(value) == text


def test_the_record_is_read_from_the_manifest(make_run):
    found = guarantee_of(open_run(make_run(model=private()))[0])
    assert found.record is not None and found.record.model_dump() == PRIVACY
    assert (found.epsilon, found.reason, found.insecure) == (5.0985, None, False)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (WORD, "none: trained without differential privacy"),
        (WORD | {"privacy": None}, "none: trained without differential privacy"),
        (CAUSAL, "not known"),
        (ENDPOINT, "not known"),
        (private(epsilon=None, reason="No noise, no privacy."), "No noise"),
    ],
)
def test_without_an_epsilon_it_is_a_dash_and_the_reason(make_run, model, why):
    run = make_run(model=model)
    card = Cards(write_page(run).read_text()).cards["dp_epsilon"]
    assert "–" in card and why in card and not re.search(r"\d", card)
    assert line(shown(run_table(*open_run(run))), "DP epsilon").startswith(f"– ({why}")


def test_without_differential_privacy_the_page_says_so_in_one_line(make_run):
    section = card_of(write_page(make_run(model=WORD)).read_text())
    assert re.findall(r"<p>(.*?)</p>", section) == ["None: trained without differential privacy."]
    assert "<dl" not in section and "<li" not in section


@pytest.mark.parametrize(
    "broken", [{"epsilon": float("inf")}, {"epsilon": "many"}, {"unit": "tribe"}, {"delta": None}]
)
def test_a_record_that_cannot_be_read_is_refused(make_run, broken):
    run = make_run()
    manifest = json.loads((run / "manifest.json").read_text()) | {"model": private(**broken)}
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(LeakscopeError, match=r"manifest.json cannot be read as a run"):
        open_run(run)


def test_the_page_tells_the_guarantee_beside_the_leakage_epsilon(make_run):
    text = write_page(make_run(model=private())).read_text()
    cards = Cards(text).cards
    names = list(cards)
    assert names.index("dp_epsilon") == names.index("leakage_epsilon") + 1
    assert "5.10" in cards["dp_epsilon"]
    assert "at delta 1.01e-05, for one user of 4,321" in cards["dp_epsilon"]
    section = card_of(text)
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", section))
    assert facts == {
        "DP delta": "1.01e-05",
        "Unit of privacy": "user, of 4,321 users",
        "Accountant": "PLD (some 1.0), add/remove one user",
        "Noise multiplier": "0.8 times the clip",
        "Clip": "0.5 per user",
        "Sampling rate": "0.0148, about 64 users per step",
        "Words in a step": "at most 500 per user",
        "Steps": "1,200, including 200 that a crash lost",
        "Noise and draws from": "the operating system",
        "Gaussian-DP value": "2.10, an approximation that under-reports",
    }
    assert re.findall("<li>(.*?)</li>", section) == ["Not this.", "Nor that."]
    assert INSECURE not in text


@pytest.mark.parametrize(
    ("weak", "why"),
    [({"delta": 2.4e-5}, "Delta is above 0.1"), ({"units": 9}, "There are only 9 users")],
)
def test_a_guarantee_that_says_nothing_is_stamped_on_everything(make_run, tmp_path, weak, why):
    run = make_run(model=private(**weak))
    text = write_page(run).read_text()
    header = text[text.index("<header>") : text.index("</header>")]
    assert "<strong>No guarantee.</strong>" in header and why in header
    assert "Insecure" not in text and "seed was insecure" not in text
    assert "no guarantee" in Cards(text).cards["dp_epsilon"]
    assert why in line(shown(run_table(*open_run(run))), "No guarantee")
    assert why in write_hardening(run, [POINT], tmp_path).read_text()


def test_no_epsilon_stands_without_its_kind(make_run):
    run = make_run(model=private(), leakage_epsilon=3.78)
    card = card_of(write_page(run).read_text())
    text = re.sub(r"e<sup>epsilon</sup>", "", card + shown(run_table(*open_run(run))))
    assert len(re.findall("epsilon", text)) > 3
    assert not re.findall(r"(?<!DP )(?<!leakage )(?<!Leakage )(?<!_)\bepsilon", text)


def test_a_gaussian_value_above_the_bound_is_not_said_to_be_below(make_run):
    higher = {"gaussian": {"mu": 1.0, "epsilon": 5.5, "note": "an approximation, mostly low"}}
    section = card_of(write_page(make_run(model=private(**higher))).read_text())
    assert "5.50, an approximation, mostly low, though not here" in section


def test_changed_noise_is_told_phase_by_phase(make_run):
    phases = [{"noise_multiplier": noise, "rate": 0.01, "steps": 600} for noise in (1.0, 0.8)]
    section = card_of(write_page(make_run(model=private(phases=phases))).read_text())
    assert "600 at noise 1, rate 0.01; 600 at noise 0.8, rate 0.01" in section


def test_an_insecure_seed_is_stamped_on_everything(make_run, tmp_path):
    run = make_run(model=private(insecure_seed=True, unit="document"))
    text = write_page(run).read_text()
    header = text[text.index("<header>") : text.index("</header>")]
    assert 'class="warning"' in header and "Insecure seed." in header and INSECURE in header
    assert "insecure seed, no guarantee" in Cards(text).cards["dp_epsilon"]
    table = shown(run_table(*open_run(run)))
    assert INSECURE in line(table, "Insecure seed")
    assert "for one document of 4,321; insecure seed, no guarantee" in line(table, "DP epsilon")
    assert INSECURE in write_hardening(run, [POINT], tmp_path).read_text()
    assert (
        "Insecure" not in write_hardening(make_run(model=private()), [POINT], tmp_path).read_text()
    )


def test_the_terminal_tells_the_model_card(make_run):
    table = shown(run_table(*open_run(make_run(model=private()))))
    assert line(table, "DP epsilon") == "5.10 (at delta 1.01e-05, for one user of 4,321)"
    assert line(table, "Accountant") == "PLD (some 1.0), add/remove one user"
    assert line(table, "Steps") == f"{thousands(1200)}, including 200 that a crash lost"
    assert line(table, "Not covered by DP") == "Not this."
    assert "Nor that." in table


def test_what_the_record_says_can_neither_be_markup_nor_steer(make_run):
    evil = f"{ATTACK}\x1b[2J\u202e[red]x"
    gaussian = {"mu": 1.0, "epsilon": 2.0, "note": evil}
    model = private(accountant=evil, caveats=[evil], gaussian=gaussian)
    for changed in (model, private(epsilon=None, reason=evil)):
        run = make_run(model=changed)
        text = write_page(run).read_text()
        assert "<img" not in text and "&lt;img src=x onerror=alert(1)&gt;" in text
        assert not [tag for tag, attrs in Cards(text).tags if tag == "img" or "onerror" in attrs]
        table = shown(run_table(*open_run(run)))
        assert "[red]x" in table
        assert not set("\x1b\u202e") & set(text + table)


def card_of(page: str) -> str:
    start = page.index('<section aria-labelledby="privacy">')
    return page[start : page.index("</section>", start)]
