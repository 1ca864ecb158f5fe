"""Forecasts of studies: all of their steps, and what of them is kept."""

import shutil

import numpy as np
import pytest

import leakscope
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.records.errors import LeakscopeError

SHAPE = {"arch": "gru", "hidden": 16, "embedding": 12, "vocabulary": 60, "epochs": 4,
         "batch_size": 8, "learning_rate": 0.01, "threads": 1}  # fmt: skip
CANARIES = {"template": "{words:3}", "schedule": "1,6", "users": 4, "controls": 5, "samples": 300,
            "exact_up_to": 1}  # fmt: skip
UPDATES = {"template": "{words:3}", "length": 2, "insertions": (2, 20), "controls": 1}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = [
        Row(f"u{i % 7}", " ".join(f"w{a} then w{(a + 1) % 30}" for a in rng.integers(0, 30, 4)))
        for i in range(140)
    ]
    path = tmp_path_factory.mktemp("study-forecasts") / "corpus"
    return build_rows(rows, path, settings=BuildSettings(validation=0.2)).path


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    path = tmp_path_factory.mktemp("trainings") / "trainings.toml"
    path.write_text('[usual]\n[hidden]\nmitigation = "triplet"\nprivacy_weight = 0.02\n')
    return path


@pytest.fixture(autouse=True)
def short(monkeypatch):
    for name in ("canary_forecast", "diff_forecast", "training_forecast"):
        monkeypatch.setattr(f"leakscope.auditing.forecasting.{name}.ENOUGH", 0.1)
    monkeypatch.setattr("leakscope.studies.step_costs.ENOUGH", 0.1)


class Shares:
    """A progress that checks a plan against what comes."""

    def __init__(self):
        self.plan, self.done = [], {}

    def expect(self, stages):
        assert not self.plan  # no step has a plan of its own
        self.plan = [stage.name for stage in stages]

    def within(self, stage, share):
        self.done[stage] = share

    def __call__(self, stage, done, total=None, note=""):
        pass

    def require_all(self, but=()):
        """Every step of the plan came to its end, in its order."""
        assert [name for name in self.plan if name not in but] == list(self.done)
        assert set(self.done.values()) == {1.0}


def content(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def works(found):
    return {stage.name: stage.work for stage in found.stages}


@pytest.mark.parametrize("targets", [{"target": (30.0, 1.01)}, {}])
def test_of_a_study_of_mitigations(corpus, trainings, tmp_path, targets):
    options = SHAPE | CANARIES | {"trainings": trainings, **targets}
    out = tmp_path / "study"
    found = leakscope.forecast.study_mitigations(corpus, out=out, **options)
    best = {} if targets else {"train usual to its best": "1 step"}
    assert works(found) == {
        "plant": "1 step", **best, "train usual": "1 step", "train hidden": "1 step",
        "canaries": "2 steps", "report": "4 steps", "exposure": "4 steps", "attack": "4 steps",
    }  # fmt: skip
    assert found.whole and all(stage.seconds > 0 for stage in found.stages)
    assert not out.exists()

    seen = Shares()
    leakscope.study.mitigations(corpus, out, progress=seen, **options)
    # Nobody reaches a perplexity of 1.01, so nothing is measured there.
    seen.require_all([f"step {number}" for number in range(10, 17)] if targets else ())
    before = content(out)
    found = leakscope.forecast.study_mitigations(corpus, out=out, **options)
    assert found.seconds == 0 and all(" kept" in work for work in works(found).values())
    more = leakscope.forecast.study_mitigations(corpus, out=out, **options, seed=(0, 1))
    assert works(more)["plant"] == "2 steps; 1 kept"
    assert content(out) == before
    report = next(out.glob("steps/report-*.json"))
    shutil.rmtree(report.with_suffix(""))
    found = leakscope.forecast.study_mitigations(corpus, out=out, **options)
    assert works(found)["report"] == "4 steps; 3 kept"


def test_of_a_study_of_updates(corpus, tmp_path):
    out, options = tmp_path / "study", SHAPE | UPDATES
    found = leakscope.forecast.study_updates(corpus, out=out, **options)
    # The first model, and for each number of insertions one anew and one that goes on.
    assert works(found) == {"plant": "2 steps", "train": "5 steps", "diff": "4 steps"}
    assert found.whole and found.seconds > 0 and not out.exists()

    seen = Shares()
    leakscope.study.updates(corpus, out, progress=seen, **options)
    seen.require_all()
    assert len([*out.glob("steps/train-*.json")]) == 5
    before = content(out)
    found = leakscope.forecast.study_updates(corpus, out=out, **options)
    assert found.seconds == 0 and content(out) == before
    more = leakscope.forecast.study_updates(corpus, out=out, **options, scenario=("delete",))
    assert works(more)["train"] == "2 steps; 1 kept"


@pytest.mark.parametrize("study", ["study_mitigations", "study_updates"])
def test_an_output_that_a_study_refuses_is_refused(corpus, trainings, study):
    with pytest.raises(LeakscopeError, match="already exists"):
        getattr(leakscope.forecast, study)(corpus, out=corpus, trainings=trainings, **SHAPE)
