"""Public models that lie in --public-dir already: used only if they are just what would be made."""

import json
import shutil
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pytest

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.public_models import public_source
from leakscope.auditing.public_settings import PublicSettings
from leakscope.commands.compare import compare
from leakscope.commands.report import report
from leakscope.commands.train import train
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.models.word.architecture import Architecture
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.run_manifest import open_run
from leakscope.reporting.comparison.compared_runs import cautions
from leakscope.reporting.terminal.tables import run_table
from leakscope.training.dp.dp_settings import PrivacySettings
from leakscope.training.train_settings import TrainSettings
from resealed import reseal

TINY = TrainSettings(Architecture("gru", 1, 4, 6), vocabulary=20, epochs=1, batch_size=4)
OTHERS = {
    "epochs 1 before, 2 now": replace(TINY, epochs=2),
    "seed 0 before, 7 now": replace(TINY, seed=7),
    "learning rate 0.001 before, 0.05 now": replace(TINY, learning_rate=0.05),
    "kind gru before, lstm now": replace(TINY, architecture=Architecture("lstm", 1, 4, 6)),
    "another vocabulary": replace(TINY, vocabulary=5),
    "differential privacy now": replace(
        TINY, mitigation=PrivacySettings(rate=0.5, noise_multiplier=0.5)
    ),
}
OWNERS = np.array([0, 3], np.int32)


def built(path, words="abcdefg", users=6):
    rows = [
        Row(f"user{u}", " ".join(words[(u + i + d) % len(words)] for i in range(6)))
        for u in range(users)
        for d in range(2)
    ]
    return build_rows(rows, path, settings=BuildSettings(validation=0.0))


def public(choice, model, corpus, **more):
    how = LoadingSettings(device="cpu", threads=1)
    given = PublicSettings(choice, folds=2, **more)
    return public_source(given, model, corpus, how=how, progress=lambda *_: None)(OWNERS).record


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A corpus, a model, and its finished folds in a folder `kept`."""
    folder = tmp_path_factory.mktemp("made")
    corpus = built(folder / "corpus")
    train(corpus.path, folder / "model", TINY)
    public("crossfit", folder / "model", corpus, public_dir=folder / "kept")
    for index, settings in enumerate(OTHERS.values()):
        train(corpus.path, folder / f"other-{index}", settings)
    return corpus, folder


@pytest.mark.parametrize("what", OTHERS)
def test_folds_of_another_recipe_are_refused_with_what_differs(made, what):
    corpus, folder = made
    other = folder / f"other-{list(OTHERS).index(what)}"
    with pytest.raises(
        LeakscopeError, match=r"holds a model of another training \(.*\); give ano"
    ) as e:
        public("crossfit", other, corpus, public_dir=folder / "kept")
    assert what in str(e.value) and str(folder / "kept" / "crossfit-2") in str(e.value)


def test_what_does_not_decide_the_weights_is_no_reason(made, tmp_path):
    corpus, folder = made
    train(corpus.path, tmp_path / "m", replace(TINY, checkpoint_steps=3, snapshot_steps=2))
    found = public("crossfit", tmp_path / "m", corpus, public_dir=folder / "kept")
    assert found.trained_like_the_audited_model and found.warnings == ()


def test_folds_of_another_corpus_warm_start_or_version_are_refused(made, tmp_path):
    corpus, folder = made
    other = built(tmp_path / "other", "gfedcba", users=7)
    train(other.path, tmp_path / "foreign", TINY)
    with pytest.raises(LeakscopeError, match="another corpus"):
        public("crossfit", tmp_path / "foreign", other, public_dir=folder / "kept")
    train(corpus.path, tmp_path / "warm", TINY, warm_start=tmp_path / "foreign")
    with pytest.raises(LeakscopeError, match=r"\(another --warm-start\)"):
        started = {"warm_start": tmp_path / "foreign", "public_dir": folder / "kept"}
        public("crossfit", tmp_path / "warm", corpus, **started)
    shutil.copytree(folder / "kept", tmp_path / "kept")
    path = tmp_path / "kept" / "crossfit-2" / "fold-001" / "config.json"
    config = json.loads(path.read_text())
    config["versions"]["leakscope"] = "0.0.1"
    path.write_text(json.dumps(config))
    reseal(path.parent)
    now = ".".join(version("leakscope").split(".")[:2])
    with pytest.raises(LeakscopeError, match=rf"\(leakscope 0\.0 before, {now} now\)"):
        public("crossfit", folder / "model", corpus, public_dir=tmp_path / "kept")


def test_folds_for_another_number_are_refused(made, tmp_path):
    corpus, folder = made
    shutil.copytree(folder / "kept" / "crossfit-2", tmp_path / "kept" / "crossfit-3")
    how = LoadingSettings(device="cpu", threads=1)
    asked = PublicSettings("crossfit", folds=3, public_dir=tmp_path / "kept")
    with pytest.raises(LeakscopeError, match=r"\(other users left out\)"):
        public_source(asked, folder / "model", corpus, how=how, progress=lambda *_: None)


@pytest.mark.parametrize("private", [False, True])
def test_a_half_trained_fold_of_other_settings_is_refused(made, tmp_path, private):
    corpus, _ = made
    terms = PrivacySettings(rate=0.5, noise_multiplier=0.5)
    first = replace(TINY, epochs=3, mitigation=terms) if private else replace(TINY, epochs=3)
    second = replace(first, epochs=4, learning_rate=0.02)
    train(corpus.path, tmp_path / "a", first)
    train(corpus.path, tmp_path / "b", second)

    def stop(stage, done, *rest):
        if stage == "fold-000 train" and done == 3:
            raise KeyboardInterrupt

    how = LoadingSettings(device="cpu", threads=1)
    asked = PublicSettings("crossfit", folds=2, public_dir=tmp_path / "kept")
    with pytest.raises(KeyboardInterrupt):
        public_source(asked, tmp_path / "a", corpus, how=how, progress=stop)
    with pytest.raises(LeakscopeError, match="give another --public-dir, or remove") as caught:
        public_source(asked, tmp_path / "b", corpus, how=how, progress=lambda *_: None)
    assert "learning rate 0.001 before, 0.02 now" in str(caught.value)
    assert "--out" not in str(caught.value)


def test_a_retrained_model_that_was_exchanged_is_refused(made, tmp_path):
    corpus, folder = made
    name = public("retrain", folder / "model", corpus, public_dir=tmp_path / "kept").name
    other = folder / "other-0"
    public("retrain", other, corpus, public_dir=tmp_path / "others")
    (found,) = (tmp_path / "others").iterdir()
    shutil.rmtree(tmp_path / "kept" / name)
    shutil.copytree(found, tmp_path / "kept" / name)
    with pytest.raises(LeakscopeError, match=rf"epochs 2 before, 1 now.*remove .*{name}\."):
        public("retrain", folder / "model", corpus, public_dir=tmp_path / "kept")


def test_given_folds_of_another_recipe_are_said_first(made, tmp_path, capsys):
    corpus, folder = made
    other, kept = folder / "other-0", str(folder / "kept" / "crossfit-2")
    report(other, corpus.path, tmp_path / "run", public=kept, threads=1)
    manifest, metrics = open_run(tmp_path / "run")
    (warning,) = manifest.public.warnings
    assert "not trained like the audited model (epochs 1 there, 2 here)" in warning
    page = (tmp_path / "run" / "report.html").read_text()
    head = page.partition("</header>")[0]
    assert "not trained like the audited model" in head
    from rich.console import Console

    sound = metrics.model_copy(update={"warnings": []})  # this tiny model knows next to nothing
    Console(width=300).print(run_table(manifest, sound))
    lines = [line.strip() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert lines[1].startswith("Warning") and "epochs 1 there, 2 here" in lines[1]
    assert any("not trained like" in line for line in cautions(compare([tmp_path / "run"])))
    report(folder / "model", corpus.path, tmp_path / "own", public=kept, threads=1)
    assert open_run(tmp_path / "own")[0].public.warnings == ()
