"""Schedules: as they are written, what they make of a plan, and a training that follows one."""

import pytest
import torch
from safetensors.torch import load_file

from leakscope.models.word.model_directory import load_config
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.accounting.accountant import spent
from leakscope.training.dp.accounting.phases import Phase
from leakscope.training.dp.clipping.clipper import Clipper
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.dp.factor_schedule import factor_at, factors_of
from leakscope.training.dp.ledger import read_phases
from leakscope.training.dp.privacy_plan import plan_of
from leakscope.training.dp.sampling import PoissonSampler
from leakscope.training.loop import train
from private_training import private, tiny_corpus

GIVEN = {"rate": 0.02, "noise_multiplier": 1.0, "delta": 1e-5}


def test_a_factor_holds_from_its_step_on():
    schedule = "500:0.8,1000:0.64"
    assert factors_of(schedule) == ((500, 0.8), (1000, 0.64))
    assert [factor_at(schedule, step) for step in (0, 499, 500, 999, 1000, 10**6)] == [
        1, 1, 0.8, 0.8, 0.64, 0.64
    ]  # fmt: skip
    assert factor_at(None, 7) == 1


@pytest.mark.parametrize(
    "wrong",
    ["", "0.8", "0:0.8", "5:0", "5:-1", "5:inf", "5:nan", "5:1,5:2", "9:1,5:2", "5:a", "5:1:2"],
)
def test_what_is_no_schedule_is_refused_in_a_sentence(wrong):
    for name in ("noise_schedule", "clip_schedule", "rate_schedule"):
        with pytest.raises(LeakscopeError, match=f"The {name.replace('_', ' ')} is written as"):
            PrivacySettings(**GIVEN, **{name: wrong})


def test_the_phases_of_a_plan_are_those_of_its_steps_one_by_one():
    settings = PrivacySettings(**GIVEN, noise_schedule="3:0.5,8:2", rate_schedule="5:3")
    plan = plan_of(settings, 1000, 10, by_step=True)
    for first in range(10):
        for stop in range(first, 12):
            one_by_one: dict[tuple[float, float], int] = {}
            for step in range(first, stop):
                noise = 2.0 if step >= 8 else 0.5 if step >= 3 else 1.0
                key = (noise, 0.02 * (3 if step >= 5 else 1))
                one_by_one[key] = one_by_one.get(key, 0) + 1
            found = {
                (phase.noise_multiplier, phase.rate): phase.steps
                for phase in plan.phases(first, stop)
                if phase.steps
            }
            assert found == one_by_one
    assert plan.at(6).denominator == pytest.approx(60) and plan.at(6).deviation == 0.5


def test_noise_is_calibrated_to_all_phases_together():
    given = {"rate": 0.02, "delta": 1e-5, "target_epsilon": 4.0, "noise_schedule": "300:0.7"}
    plan = plan_of(PrivacySettings(**given), 5000, 1000, by_step=True)
    phases = [
        Phase(plan.noise_multiplier, 0.02, 300), Phase(0.7 * plan.noise_multiplier, 0.02, 700)
    ]  # fmt: skip
    assert 0.99 * 4 < spent(phases, 1e-5).epsilon <= 4
    flat = plan_of(PrivacySettings(**(given | {"noise_schedule": None})), 5000, 1000)
    assert flat.noise_multiplier < plan.noise_multiplier


def test_snapshots_fall_where_counting_step_by_step_puts_them():
    settings = PrivacySettings(
        rate=0.3, noise_multiplier=1.0, delta=1e-3, noise_schedule="4:0.7",
        snapshot_at_epsilon=(2.0, 3.0, 5.0),
    )  # fmt: skip
    plan = plan_of(settings, 50, 12, by_step=True)
    cost = [plan.epsilon(plan.phases(0, steps)) for steps in range(14)]
    assert cost == sorted(cost)
    due = plan.schedule((), 0, 12).due
    for wanted in (2.0, 3.0, 5.0):
        last = max(steps for steps in range(14) if cost[steps] <= wanted)
        assert any(f"epsilon-{wanted:g}" in names for names in [due.get(last, ())]) == (last <= 12)


def test_a_rate_above_1_and_loops_of_ones_own_are_refused():
    with pytest.raises(LeakscopeError, match="greater than 1; lower its factors"):
        plan_of(PrivacySettings(**GIVEN, rate_schedule="5:51"), 1000, 10, by_step=True)
    for changes in ({"clip_schedule": "5:2"}, {"words_at_a_time": 100}):
        with pytest.raises(LeakscopeError, match=f"make_private has no {next(iter(changes))}"):
            plan_of(PrivacySettings(**GIVEN, **changes), 1000, 10)


SCHEDULED = {
    "noise_schedule": "2:0.9,5:0.8", "clip_schedule": "3:2", "rate_schedule": "4:0.5", "epochs": 2
}  # fmt: skip


class StoppedError(Exception):
    pass


def stop_after(steps):
    def stop(stage, done, total=None, note=""):
        if stage == "train" and done == steps:
            raise StoppedError

    return stop


def test_every_step_takes_its_own_terms_and_a_resumed_training_is_the_same(tmp_path, monkeypatch):
    corpus, drawn, clipped = tiny_corpus(tmp_path / "corpus"), [], []
    choose, write = PoissonSampler.choose, Clipper.write
    monkeypatch.setattr(
        PoissonSampler,
        "choose",
        lambda self, step, rate: drawn.append(rate) or choose(self, step, rate),
    )
    monkeypatch.setattr(
        Clipper, "write", lambda self, *given: clipped.append(given[3]) or write(self, *given)
    )
    settings = private(**SCHEDULED, checkpoint_steps=3)
    train(corpus, tmp_path / "whole", settings)
    assert drawn == pytest.approx([0.3] * 4 + [0.15] * 4)
    assert clipped == pytest.approx([0.05] * 3 + [0.1] * (len(clipped) - 3))
    with pytest.raises(StoppedError):
        train(corpus, tmp_path / "again", settings, progress=stop_after(5))
    train(corpus, tmp_path / "again", settings)
    whole, again = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "again"))
    assert all(torch.equal(whole[name], again[name]) for name in whole)
    phases = (Phase(0.7, 0.3, 2), Phase(0.63, 0.3, 2), Phase(0.63, 0.15, 1), Phase(0.56, 0.15, 3))
    for found, right in zip(read_phases(tmp_path / "whole"), phases, strict=True):
        assert found.noise_multiplier == pytest.approx(right.noise_multiplier)
        assert (found.rate, found.steps) == (pytest.approx(right.rate), right.steps)
    record = load_config(tmp_path / "whole").privacy
    assert record.schedules == {"noise": "2:0.9,5:0.8", "clip": "3:2", "rate": "4:0.5"}
    assert record.noise_multiplier == pytest.approx(0.56) and record.clip == pytest.approx(0.1)
    assert record.epsilon == pytest.approx(spent(phases, record.delta).epsilon, rel=1e-9)
    lost = load_config(tmp_path / "again").privacy
    # The checkpoint held 4 steps, the end of an epoch; the fifth was lost, and repeated.
    assert lost.lost_steps == 1 and [phase.steps for phase in lost.phases] == [2, 2, 2, 3]
    assert lost.epsilon > record.epsilon


def test_another_schedule_is_refused_when_resumed(tmp_path):
    corpus = tiny_corpus(tmp_path / "corpus")
    same = {"checkpoint_steps": 100, "epochs": 1}
    with pytest.raises(StoppedError):
        train(corpus, tmp_path / "m", private(**same), progress=stop_after(3))
    with pytest.raises(LeakscopeError, match=r"noise schedule none before, 2:0\.9 now"):
        train(corpus, tmp_path / "m", private(**same, noise_schedule="2:0.9"))


def test_the_same_mechanism_for_fewer_users_has_the_same_noise(tmp_path):
    corpus = tiny_corpus(tmp_path / "corpus")
    settings = private(**SCHEDULED)
    train(corpus, tmp_path / "m", settings)
    repeated = settings.mitigation.repeated(load_config(tmp_path / "m").privacy)
    assert repeated.noise_multiplier == pytest.approx(0.7) and repeated.rate == pytest.approx(0.3)
    assert repeated.noise_schedule == settings.mitigation.noise_schedule
