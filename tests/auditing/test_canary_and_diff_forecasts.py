"""Forecasts of measuring canaries and of diffs, and the plans by which they tell the time left."""

import pytest

import leakscope
from leakscope.auditing.forecasting.rehearsal import SET_UP, Watch, rehearsed
from leakscope.records.errors import LeakscopeError

SHAPE = {"arch": "gru", "epochs": 1, "hidden": 16, "embedding": 12, "vocabulary": 300, "threads": 1}


class Planned:
    """A progress that remembers what was announced, and what came."""

    def __init__(self):
        self.stages, self.told = [], []

    def expect(self, stages):
        self.stages = [stage.name for stage in stages]

    def __call__(self, stage, done, total=None, note=""):
        if total is not None and done >= total and self.told[-1:] != [stage]:
            self.told.append(stage)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("canary-forecasts")
    leakscope.corpus.synth(folder / "synth", users=10, words=3000)
    leakscope.corpus.build(folder / "synth" / "data.parquet", folder / "corpus")
    leakscope.canary.plant(
        folder / "corpus", folder / "planted", vocabulary=100, template="{words:3}", schedule="1,4"
    )
    for seed in (0, 1):
        leakscope.train(folder / "planted" / "corpus", folder / f"m{seed}", seed=seed, **SHAPE)
    return folder


@pytest.fixture(autouse=True)
def short(monkeypatch):
    for name in ("canary_forecast", "diff_forecast"):
        monkeypatch.setattr(f"leakscope.auditing.forecasting.{name}.ENOUGH", 0.2)


def content(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_of_exposure(made, tmp_path):
    before = content(made)
    few, many = (
        leakscope.forecast.canary_exposure(
            made / "m0", made / "planted", out=tmp_path / "out", samples=samples, method="sample"
        )
        for samples in (2000, 20_000)
    )
    assert [stage.name for stage in few.stages] == ["score", "fit"] and few.whole
    assert "20,120 texts" in many.stages[0].work and many.seconds > 0
    assert content(made) == before and not (tmp_path / "out").exists()


@pytest.mark.parametrize("beam", [1, 3])
def test_of_the_attack(made, beam):
    found = leakscope.forecast.canary_attack(made / "m0", made / "planted", beam=beam)
    assert [stage.name for stage in found.stages] == ["attack", "beam"][: 1 + (beam > 1)]
    assert all(stage.seconds > 0 for stage in found.stages)


def test_of_a_diff(made, tmp_path):
    before = content(made)
    options = {"canaries": made / "planted", "new_corpus": made / "planted" / "corpus"}
    found = leakscope.forecast.diff(made / "m0", made / "m1", out=tmp_path / "out", **options)
    assert [stage.name for stage in found.stages] == [SET_UP, "search", "count", "rank"]
    assert all(stage.seconds > 0 for stage in found.stages) and content(made) == before
    assert not (tmp_path / "out").exists()
    _, only = leakscope.forecast.diff(
        made / "m0", made / "m1", no_search=True, canaries=made / "planted", known=1
    ).stages
    assert only.name == "rank"


def test_what_comes_was_announced(made, tmp_path):
    seen = Planned()
    leakscope.canary.exposure(
        made / "m0", made / "planted", tmp_path / "a", samples=500, method="sample", progress=seen
    )
    assert seen.stages == seen.told == ["score", "fit"]
    seen = Planned()
    leakscope.canary.attack(made / "m0", made / "planted", tmp_path / "b", beam=2, progress=seen)
    assert seen.stages == seen.told == ["attack", "beam"]
    seen = Planned()
    options = {"canaries": made / "planted", "exact_rows": 0, "length": 3}
    leakscope.diff(made / "m0", made / "m1", tmp_path / "c", progress=seen, **options)
    assert seen.stages == seen.told == ["search", "count", "rank"]
    seen = Planned()
    leakscope.train(made / "corpus", tmp_path / "d", progress=seen, **SHAPE)
    assert seen.stages == ["train"] and "train" in seen.told


def test_a_taken_directory_and_an_endpoint_are_refused(made, tmp_path):
    (tmp_path / ".leakscope").write_text('{"unfinished": "train"}')
    with pytest.raises(LeakscopeError, match="holds an unfinished train"):
        leakscope.forecast.diff(made / "m0", made / "m1", out=tmp_path)
    (tmp_path / "compare.json").write_text("mine")
    with pytest.raises(LeakscopeError, match=r"compare\.json already exists"):
        leakscope.forecast.report(made / "m0", made / "corpus", out=tmp_path, snapshots=True)
    with pytest.raises(LeakscopeError, match="already"):
        leakscope.forecast.canary_attack(made / "m0", made / "planted", out=made / "m1")
    with pytest.raises(LeakscopeError, match="a dry run sends none"):
        leakscope.forecast.canary_exposure("http://127.0.0.1:1/v1", made / "planted")


def test_time_goes_to_the_stage_that_was_worked_on():
    now = [0.0]

    def work(out, progress):
        assert not out.exists()
        for stage in ("first", "second"):
            now[0] += 1  # before it is heard of
            for done in (0, 1, 2):
                progress(stage, done, 2)
                now[0] += 10
        progress("first", 1, 2)  # again

    seen = rehearsed(work, None, lambda: now[0])
    assert seen.finished and seen.seconds == now[0] == 62
    assert {name: stage.seconds for name, stage in seen.stages.items()} == {
        SET_UP: 1, "first": 41, "second": 20,
    }  # fmt: skip
    assert seen.stages["first"].done == 3


def test_a_rehearsal_is_left_after_a_while():
    now = [0.0]

    def work(out, progress):
        for done in range(100):
            progress("only", done, 100)
            now[0] += 1

    seen = rehearsed(work, 5.0, lambda: now[0])
    assert not seen.finished and seen.stages["only"].done == 5
    assert Watch(None).seen(finished=True).stages[SET_UP].done == 0
