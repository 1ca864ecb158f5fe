"""What was spent, as others account for it."""

import json
from pathlib import Path

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant

from leakscope.models.word.model_directory import load_config
from leakscope.records.errors import LeakscopeError
from leakscope.training import dp_event
from leakscope.training.dp.accounting.dp_event import event_of
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.privacy_plan import plan_of

BEFORE = Path(__file__).parents[3] / "records" / "before"


def record_of_two_phases():
    given = {"rate": 0.1, "noise_multiplier": 1.0, "delta": 1e-5, "noise_schedule": "20:1.5"}
    plan = plan_of(PrivacySettings(**given), 1000, 50, by_step=True)
    return plan.record(plan.phases(0, 50), 50, [])


def test_the_accountants_of_the_library_find_the_same_epsilon():
    record = record_of_two_phases()
    event = dp_event(record)
    by_pld = PLDAccountant(value_discretization_interval=1e-3).compose(event).get_epsilon(1e-5)
    assert by_pld == pytest.approx(record.epsilon, rel=0.01)
    assert dp_accounting.rdp.RdpAccountant().compose(event).get_epsilon(1e-5) > by_pld
    replaced = dp_accounting.NeighboringRelation.REPLACE_SPECIAL
    assert PLDAccountant(replaced).supports(event)


def test_it_is_written_in_the_words_of_the_library_and_read_again(tmp_path):
    record = record_of_two_phases()
    event = dp_event(record, tmp_path / "event.json")
    written = json.loads((tmp_path / "event.json").read_text())
    assert written["delta"] == 1e-5 and written["epsilon"] == record.epsilon
    assert written["unit"] == "user" and written["relation"] == "add-remove"
    assert event_of(written["event"]) == event
    named, plain = event.to_named_tuple(), written["event"]
    assert [named.module_name, named.class_name] == [plain["module_name"], plain["class_name"]]
    for one, two in zip(named.events, plain["events"], strict=True):
        assert set(one._fields) == set(two) and one.count == two["count"]
        assert set(one.event._fields) == set(two["event"])
        assert one.event.event._asdict() == two["event"]["event"]


def test_models_and_runs_have_one_and_others_say_so(tmp_path):
    found = dp_event(BEFORE / "dp")
    (phase,) = found.events
    record = load_config(BEFORE / "dp").privacy
    assert (phase.count, phase.event.sampling_probability) == (record.steps, record.rate)
    assert phase.event.event.noise_multiplier == record.noise_multiplier
    assert dp_event(BEFORE / "dprun") == found
    with pytest.raises(LeakscopeError, match="no training with differential privacy"):
        dp_event(BEFORE / "gru")
    with pytest.raises(LeakscopeError, match="is not a model"):
        dp_event(tmp_path)


@pytest.mark.parametrize(
    "wrong", [{}, 3, {"class_name": "NoOpDpEvent"}, {"class_name": "GaussianDpEvent"}]
)
def test_what_was_not_written_here_is_not_made(wrong):
    with pytest.raises(LeakscopeError, match="no DpEvent"):
        event_of(wrong)
