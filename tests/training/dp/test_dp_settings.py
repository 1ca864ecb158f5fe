"""Settings of private training, the plan made of them, and the record it leaves."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch

from leakscope.records.artifacts import read_json, write_json
from leakscope.records.documents import Documents
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.dp_record import PrivacyRecord
from leakscope.training.dp.accounting.accountant import default_delta, epsilon
from leakscope.training.dp.accounting.phases import Phase
from leakscope.training.dp.caveats import INSECURE, VOCABULARY, caveats_of
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.ledger import Terms, open_ledger
from leakscope.training.dp.noise.noise_source import noise_source
from leakscope.training.dp.privacy_plan import plan_of
from leakscope.training.dp.privacy_units import units_of
from leakscope.training.dp.sampling import PoissonSampler, user_source

GIVEN = {"rate": 0.02, "noise_multiplier": 1.0}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"unit": "word"}, "user or document"),
        ({"users_per_step": 3.0}, "either the users per step or"),
        ({"rate": 0.0}, "rate"),
        ({"rate": 1.5}, "rate"),
        ({"rate": math.nan}, "rate"),
        ({"rate": None, "users_per_step": -1.0}, "users per step"),
        ({"words_per_user": 0}, "words per user"),
        ({"clip": 0.0}, "clip"),
        ({"clip": math.inf}, "clip"),
        ({"noise_multiplier": 0.0}, "noise multiplier"),
        ({"noise_multiplier": math.inf}, "noise multiplier"),
        ({"noise_multiplier": None}, "either the noise multiplier or"),
        ({"target_epsilon": 3.0}, "either the noise multiplier or"),
        ({"noise_multiplier": None, "target_epsilon": -1.0}, "target epsilon"),
        ({"delta": 0.0}, "Delta"),
        ({"delta": 1.0}, "Delta"),
        ({"snapshot_at_epsilon": (3.0, 3.0)}, "increase"),
        ({"snapshot_at_epsilon": (5.0, 3.0)}, "increase"),
        ({"snapshot_at_epsilon": (0.0,)}, "snapshot"),
        (
            {"noise_multiplier": None, "target_epsilon": 4.0, "snapshot_at_epsilon": (3.0, 5.0)},
            "than the target",
        ),
        ({"insecure_seed": -1}, "seed"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, said):
    with pytest.raises(LeakscopeError, match=said):
        PrivacySettings(**(GIVEN | changes))


def test_a_plan_has_the_rate_of_the_expected_users_and_a_delta_of_their_number():
    plan = plan_of(PrivacySettings(users_per_step=64, noise_multiplier=1.1, clip=0.5), 3200, 100)
    assert plan.rate == 0.02
    assert plan.denominator == pytest.approx(64)
    assert plan.deviation == pytest.approx(0.55)
    assert plan.delta == default_delta(3200) <= 3200**-1.1
    assert not plan.insecure
    assert plan.terms("abc") == Terms("abc", "user", 3200, 0.02, 1.1, 0.5, 500, insecure=False)


@pytest.mark.parametrize(
    ("users", "expected"), [(2, 1), (19, 1), (60, 6), (639, 63), (640, 64), (100_000, 64)]
)
def test_the_usual_number_of_users_in_a_step_fits_the_users_there_are(users, expected):
    plan = plan_of(PrivacySettings(noise_multiplier=1.0), users, 5)
    assert plan.denominator == pytest.approx(expected)


def test_the_denominator_is_expected_and_not_rounded():
    plan = plan_of(PrivacySettings(rate=0.015, noise_multiplier=1.0), 321, 10)
    assert plan.denominator == 0.015 * 321


def test_a_target_epsilon_is_met_and_not_passed():
    settings = PrivacySettings(rate=0.02, target_epsilon=4.0, delta=1e-5)
    plan = plan_of(settings, 5000, 1000)
    assert 0.99 * 4 < epsilon(plan.noise_multiplier, 0.02, 1000, 1e-5) <= 4
    assert 1000 <= plan.steps_left(4.0, (), 5000) < 1030


def test_more_users_than_there_are_cannot_be_expected():
    with pytest.raises(LeakscopeError, match=r"only 10 users.* lower --users-per-step from 11 to"):
        plan_of(PrivacySettings(users_per_step=11, noise_multiplier=1.0), 10, 5)


def test_a_record_counts_lost_steps_and_survives_the_disk(tmp_path):
    plan = plan_of(PrivacySettings(**GIVEN, delta=1e-5, insecure_seed=3), 5000, 100)
    caveats = caveats_of(
        "user", 5000, 1e-5, insecure=True, warm_started=False, public_vocabulary=False
    )
    record = plan.record([Phase(1.0, 0.02, 120)], 100, caveats)
    assert record.steps == 120
    assert record.lost_steps == 20
    assert record.epsilon == epsilon(1.0, 0.02, 120, 1e-5)
    assert record.gaussian.epsilon < record.epsilon
    assert "under-reports" in record.gaussian.note
    assert record.accountant == "PLD (dp-accounting 0.6.0), add/remove one user"
    assert record.insecure_seed
    assert record.caveats[0] == INSECURE
    write_json(tmp_path / "record.json", record)
    assert read_json(tmp_path / "record.json", PrivacyRecord, "a record") == record


def test_a_record_without_epsilon_says_why(tmp_path):
    plan = plan_of(PrivacySettings(**GIVEN), 5000, 100)
    record = plan.record([Phase(0.0, 0.02, 1), Phase(1.0, 0.02, 5)], 6, [])
    assert record.epsilon is None
    assert record.gaussian is None
    assert "without noise" in record.reason
    write_json(tmp_path / "record.json", record)  # no infinity in it


def test_nothing_spent_is_epsilon_zero():
    assert plan_of(PrivacySettings(**GIVEN), 5000, 100).record([], 0, []).epsilon == 0


def test_caveats_say_what_applies():
    some = {"insecure": False, "warm_started": False, "public_vocabulary": False}
    plain = caveats_of("user", 1000, 1e-6, **some)
    assert VOCABULARY in plain
    assert INSECURE not in plain
    assert VOCABULARY not in caveats_of("user", 1000, 1e-6, **some | {"public_vocabulary": True})
    many = caveats_of("user", 1000, 1e-6, **some, vocabulary_users=5)
    assert any("fewer than 5 users" in caveat for caveat in many)
    assert any("many documents" in caveat for caveat in caveats_of("document", 1000, 1e-6, **some))
    large = caveats_of("user", 1000, 1.1e-4, **some)
    assert "Delta is above 0.1 over the number of users" in large[0]
    assert caveats_of("user", 1000, 1e-4, **some) == plain
    assert "only 9 documents" in caveats_of("document", 9, 1e-6, **some)[0]
    started = caveats_of("user", 1000, 1e-6, **some | {"warm_started": True})
    assert len(started) == len(plain) + 1
    for caveat in (*plain, *many, *started):
        assert caveat.endswith(".")
        assert "{" not in caveat


def test_settings_and_sampling_do_not_wait_for_the_accountant():
    """It takes seconds to import, and only a private training needs it."""
    code = (
        "import sys; import leakscope.training.loop, leakscope.training.dp.dp_settings, "
        "leakscope.training.dp.sampling, leakscope.training.dp.ledger, "
        "leakscope.training.dp.noise.noise_source, "
        "leakscope.records.models.dp_record; sys.exit('dp_accounting' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_the_extra_it_says_how_to_get_it():
    code = (
        "import sys; sys.modules['dp_accounting'] = None\n"
        "from leakscope.records.errors import LeakscopeError\n"
        "try:\n    import leakscope.training.dp.privacy_plan\n"
        "except LeakscopeError as error:\n    print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'leakscope[dp]'" in run.stdout


def test_a_step_without_users_adds_noise_and_is_counted(tmp_path):
    """The parts as a training calls them, step by step, with a gradient of ones for each user."""
    documents = Documents.of([(user, [1, 2, 3]) for user in range(20)])
    units = units_of(documents, 8, "user")
    plan = plan_of(PrivacySettings(users_per_step=1, noise_multiplier=2.0, clip=0.1), 20, 60)
    sampler = PoissonSampler(
        units, plan.rate, plan.words_per_user, seed=0, source=user_source(None)
    )
    noise, ledger = noise_source(None), open_ledger(tmp_path, plan.terms("abc"), 0)
    empty = []
    for step in range(60):
        drawn = sampler.draw(step)
        total = torch.full((5000,), len(drawn) * plan.clip / math.sqrt(5000))
        ledger.begin_step(step)
        noise.add_([total], plan.deviation, step)
        gradient = total / plan.denominator
        if not len(drawn):
            empty.append(float(gradient.std()))
    ledger.close()
    assert 5 < len(empty) < 45  # of 60, 0.95^20 = 36% are expected
    assert np.mean(empty) == pytest.approx(2.0 * 0.1 / 1, rel=0.02)
    assert plan.record(ledger.phases, 60, []).epsilon == epsilon(2.0, 0.05, 60, plan.delta)
