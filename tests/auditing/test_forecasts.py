"""Forecasts: what is measured, what follows from it, and that nothing is left behind."""

import json
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

import leakscope
from leakscope.auditing.forecasting.report_forecast import TimedScoring
from leakscope.auditing.forecasting.training_forecast import timed_steps
from leakscope.cli.app import main
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.work_forecast import kept_said

SHAPE = {"arch": "gru", "hidden": 16, "embedding": 12, "vocabulary": 300, "threads": 1}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forecasts")
    leakscope.corpus.synth(folder / "synth", users=10, words=3000)
    leakscope.corpus.build(folder / "synth" / "data.parquet", folder / "corpus")
    leakscope.train(folder / "corpus", folder / "model", epochs=2, **SHAPE)
    return folder


def content(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_the_steps_of_a_training_are_timed_without_the_first():
    now = [0.0]

    def begin(folder, progress):
        assert not folder.exists() and folder.parent.is_dir()
        progress("plan", 0, None, "not a step")
        for step in range(1, 101):
            now[0] += 5.0 if step == 1 else 0.5  # the first one sets up
            progress("train", step, 100)

    timed = timed_steps(begin, lambda: now[0])
    assert (timed.seconds, timed.total, timed.set_up) == (0.5, 100, 4.5)
    assert now[0] < 10  # it was left

    only = timed_steps(lambda folder, progress: progress("train", 1, 1), lambda: now[0])
    assert only.total == 1


def test_of_a_training(made, tmp_path):
    before = content(made)
    found = leakscope.forecast.train(made / "corpus", epochs=3, **SHAPE)
    assert [stage.name for stage in found.stages] == ["set up", "train", "measure"]
    assert found.whole and found.stages[1].seconds > 0 and found.stages[2].seconds > 0
    model = (made / "model" / "model.safetensors").stat().st_size
    assert found.disk == pytest.approx(model * (1 + 3 + 6), rel=0.1)
    assert content(made) == before


LAST = ("collect and write", "look closer")


@pytest.mark.parametrize(
    ("options", "stages"),
    [
        ({}, ["score", "held-out", "count", *LAST]),
        ({"decoy_words": 0}, ["score", "count", *LAST]),
        (
            {"public": "crossfit", "folds": 3},
            ["public models", "score", "held-out", "count", *LAST],
        ),
        (
            {"stand_ins": "crossfit", "folds": 3, "public": "retrain"},
            ["public model", "stand-ins", "score", "stand-ins", "count", *LAST],
        ),
    ],
)
def test_of_a_report(made, options, stages):
    before = content(made)
    found = leakscope.forecast.report(made / "model", made / "corpus", top_k=3, **options)
    assert [stage.name for stage in found.stages] == ["set up", *stages]
    seconds = {stage.name: stage.seconds for stage in found.stages}
    assert seconds["look closer"] is None and not found.whole and seconds["score"] > 0
    manifest = leakscope.corpus.info(made / "corpus")
    assert f"{manifest.train.words:,} words" in next(
        stage.work for stage in found.stages if stage.name == "score"
    )
    if "public models" in seconds:  # three trainings, each of two thirds of the users
        whole = pq.read_table(made / "model" / "history.parquet")["seconds"].to_pylist()[-1]
        assert seconds["public models"] == pytest.approx(2 * whole)
    assert content(made) == before


def test_runs_are_extrapolated_from_the_sample():
    timed = TimedScoring(words=1000, seconds=2.0, occurrences=50)
    assert timed.seconds_a_word == 0.002


def test_an_endpoint_is_not_asked():
    with pytest.raises(LeakscopeError, match="a dry run sends none"):
        leakscope.forecast.report("http://127.0.0.1:1/v1", "corpus")


@pytest.mark.parametrize("as_json", [False, True])
def test_the_command_only_prints(made, tmp_path, monkeypatch, capsys, as_json):
    asked = ["report", str(made / "model"), str(made / "corpus"), "--out", str(tmp_path / "run")]
    flags = ["--dry-run", *(["--json"] if as_json else [])]
    monkeypatch.setattr("sys.argv", ["leakscope", *asked, *flags])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code and not (tmp_path / "run").exists()
    said = capsys.readouterr().out
    if as_json:
        assert json.loads(said)["stages"][1]["name"] == "score"
    else:
        assert said.splitlines()[-1].startswith("in all: at least about ") and "memory" in said


def test_a_training_that_never_tells_a_step_is_not_timed():
    with pytest.raises(LeakscopeError, match="no step"):
        timed_steps(lambda folder, progress: SimpleNamespace(), lambda: 0.0)


class KilledError(Exception):
    pass


def killed_at(stage, done):
    def progress(told, at, total=None, note=""):
        if told == stage and at >= done:
            raise KilledError

    return progress


def test_the_steps_of_a_checkpoint_are_kept(made, tmp_path):
    out, options = tmp_path / "model", {**SHAPE, "epochs": 3, "checkpoint_steps": 1}
    fresh = leakscope.forecast.train(made / "corpus", out=out, **options)
    assert not out.exists() and "kept" not in fresh.stages[1].work
    with pytest.raises(KilledError):
        leakscope.train(made / "corpus", out, progress=killed_at("train", 3), **options)
    before = content(out)
    found = leakscope.forecast.train(made / "corpus", out=out, **options)
    assert "2 are kept" in found.stages[1].work and content(out) == before
    with pytest.raises(LeakscopeError, match="unfinished training with other settings"):
        leakscope.forecast.train(made / "corpus", out=out, **{**options, "hidden": 20})
    with pytest.raises(LeakscopeError, match="already"):
        leakscope.forecast.train(made / "corpus", out=made / "model", **options)


def test_the_scores_of_a_killed_report_are_kept(made, tmp_path, monkeypatch):
    monkeypatch.setattr("leakscope.leakage.pipeline.PIECE_WORDS", 500)
    out, words = tmp_path / "run", leakscope.corpus.info(made / "corpus").train.words
    with pytest.raises(KilledError):
        leakscope.report(
            made / "model", made / "corpus", out, progress=killed_at("score", words // 2)
        )
    before = content(out)
    found = leakscope.forecast.report(made / "model", made / "corpus", out=out)
    (stage,) = (stage for stage in found.stages if stage.name == "score")
    kept = int(stage.work.split("; ")[1].split(" ")[0].replace(",", ""))
    assert words // 2 <= kept < words and content(out) == before
    other = leakscope.forecast.report(made / "model", made / "corpus", out=out, top_k=7)
    assert not any("kept" in stage.work for stage in other.stages)


def test_snapshots_are_counted(made, tmp_path):
    one = leakscope.forecast.report(made / "model", made / "corpus", out=tmp_path / "runs")
    all_of_them = leakscope.forecast.report(
        made / "model", made / "corpus", out=tmp_path / "runs", snapshots=True
    )
    count = {stage.name: stage.seconds for stage in one.stages}["count"]
    assert {stage.name: stage.seconds for stage in all_of_them.stages}["count"] == 2 * count


def test_what_is_begun_of_cross_fitted_models_is_kept(made, tmp_path):
    options = {"public": "crossfit", "public_dir": tmp_path / "public", "folds": 2, "top_k": 3}
    model = tmp_path / "model"
    leakscope.train(made / "corpus", model, epochs=6, checkpoint_steps=1, **SHAPE)

    def public_models():
        found = leakscope.forecast.report(model, made / "corpus", **options)
        return next(stage for stage in found.stages if stage.name == "public models")

    fresh = public_models()
    assert fresh.work == "2 trainings"
    with pytest.raises(KilledError):
        leakscope.report(
            model,
            made / "corpus",
            tmp_path / "run",
            progress=killed_at("fold-001 train", 4),
            **options,
        )
    before = content(tmp_path)
    found = public_models()
    assert found.work == "2 trainings; 1 is kept; 3 steps of one that is begun"
    assert found.seconds < fresh.seconds / 2 and content(tmp_path) == before


def test_one_is_kept_and_several_are():
    assert [kept_said(count) for count in (0, 1, 2000)] == ["", "; 1 is kept", "; 2,000 are kept"]
