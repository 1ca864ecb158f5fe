"""Measurements of canaries that were stopped go on, and give the same files, byte for byte."""

import pytest

import leakscope
from leakscope.canaries import attack_batches, score_batches
from stopped_calls import StoppedCalls, StoppedError, contents, flip, kept
from told_damage import ToldDamage

SAMPLED = {"samples": 600, "method": "sample", "bootstrap": 10}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(score_batches, "SEQUENCES", 64)
    for name in ("BATCH", "BEAM_BATCH"):
        monkeypatch.setattr(f"leakscope.canaries.reconstruction.{name}", 10)


def measured(command, planted, out, model="overfitted", **options):
    asked = {"exposure": SAMPLED, "attack": {"beam": 2}}[command] | options
    getattr(leakscope.canary, command)(
        getattr(planted, model), planted.folder / "out", out, **asked
    )
    return contents(out)


def calls(monkeypatch, stop_at=None):
    """Of the model, for a batch of either command."""
    found = StoppedCalls(lambda function, *given: function(*given), stop_at)
    for module, name in (
        (score_batches, "_of_sorted"),
        (attack_batches, "_greedy"),
        (attack_batches, "beam_reaches"),
    ):
        function = ORIGINALS[name]
        monkeypatch.setattr(module, name, lambda *given, of=function: found(of, *given))
    return found


ORIGINALS = {
    "_of_sorted": score_batches._of_sorted,
    "_greedy": attack_batches._greedy,
    "beam_reaches": attack_batches.beam_reaches,
}


def remembering(told):
    return lambda *given: told.append(given)


@pytest.mark.parametrize("command", ["exposure", "attack"])
def test_a_stopped_measurement_goes_on(planted, tmp_path, monkeypatch, command):
    whole = calls(monkeypatch)
    wanted = measured(command, planted, tmp_path / "whole")
    for stop_at in (1, 2, whole.count // 2, whole.count):
        out = tmp_path / f"stopped-{stop_at}"
        calls(monkeypatch, stop_at)
        with pytest.raises(StoppedError):
            measured(command, planted, out)
        assert len(kept(out)) == stop_at - 1  # one batch is lost
        rest = calls(monkeypatch)
        told = []
        found = measured(command, planted, out, progress=remembering(told))
        assert found == wanted and rest.count == whole.count - stop_at + 1
        assert not (out / ".work").exists() and not (out / ".leakscope").exists()
        if stop_at == 2:
            assert 0 < told[0][1] < told[0][2]  # what was kept is shown as done


@pytest.mark.parametrize("command", ["exposure", "attack"])
def test_only_what_is_damaged_is_made_again(planted, tmp_path, monkeypatch, command):
    whole = calls(monkeypatch)
    wanted = measured(command, planted, tmp_path / "whole")
    calls(monkeypatch, whole.count)
    out = tmp_path / "out"
    with pytest.raises(StoppedError):
        measured(command, planted, out)
    before = kept(out)
    spoilt = [min(before), max(before)]
    for path in spoilt:
        flip(path)
    again, told = calls(monkeypatch, len(spoilt) + 1), ToldDamage()
    with pytest.raises(StoppedError):
        measured(command, planted, out, progress=told)
    assert set(told.names) == {path.name for path in spoilt}
    after = kept(out)
    assert {path for path in before if before[path] != after[path]} == set(spoilt)
    assert again.count == len(spoilt) + 1
    assert measured(command, planted, out) == wanted


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("exposure", {"model": "plain"}),
        ("exposure", {"samples": 500}),
        ("exposure", {"seed": 1}),
        ("exposure", {"batch_tokens": 512}),
        ("attack", {"model": "plain"}),
        ("attack", {"given": 2}),
        ("attack", {"beam": 3}),
    ],
)
def test_nothing_of_another_measurement_is_used(planted, tmp_path, monkeypatch, command, change):
    whole = calls(monkeypatch)
    wanted = measured(command, planted, tmp_path / "whole", **change)
    calls(monkeypatch, 3)
    with pytest.raises(StoppedError):
        measured(command, planted, tmp_path / "out")
    anew = calls(monkeypatch)
    assert measured(command, planted, tmp_path / "out", **change) == wanted
    reused = 2 if command == "attack" and "beam" in change else 0  # the greedy attack is the same
    assert anew.count == whole.count - reused


def test_a_refused_measurement_leaves_nothing(planted, tmp_path):
    with pytest.raises(leakscope.LeakscopeError, match="fewer than"):
        measured("exposure", planted, tmp_path / "out", samples=10_000_000)
    assert not (tmp_path / "out").exists()


def test_a_forecast_counts_only_what_is_left(planted, tmp_path, monkeypatch):
    for command, forecast, stop_at, said in (
        ("exposure", leakscope.forecast.canary_exposure, 4, "192 are kept"),
        ("attack", leakscope.forecast.canary_attack, 3, "20 are kept"),
    ):
        calls(monkeypatch, stop_at)
        with pytest.raises(StoppedError):
            measured(command, planted, tmp_path / command)
        calls(monkeypatch)
        before = contents(tmp_path / command)
        asked = {"exposure": SAMPLED, "attack": {"beam": 2}}[command]
        found = forecast(
            planted.overfitted, planted.folder / "out", out=tmp_path / command, **asked
        )
        assert said in found.stages[0].work
        assert contents(tmp_path / command) == before
