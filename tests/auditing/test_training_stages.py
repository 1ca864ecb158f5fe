"""A snapshot's decoys are judged by public models that had come just as far."""

import json
import shutil
from functools import partial

import numpy as np
import pytest

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.public_models import public_source, same_public_model
from leakscope.auditing.public_settings import PublicSettings
from leakscope.auditing.public_training import fold_of
from leakscope.auditing.stand_in_models import stand_ins_of
from leakscope.commands.report import report
from leakscope.commands.train import train
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.model_directory import load_model, weights_digest
from leakscope.models.word.training_stages import at_stage_of
from leakscope.models.wrappers.by_user import ByUser
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_manifest import open_run
from leakscope.training.train_settings import TrainSettings
from small_models import repeated_by, sharp_model

WORDS = [first + second for first in "bdgkmnrt" for second in "aeiou"]
SHAPE = TrainSettings(
    Architecture("gru", 1, 12, 24), vocabulary=40, epochs=4, batch_size=8, learning_rate=0.03
)
ASKED = ReportSettings(top_k=3, least_context=0)
FOLDS = PublicSettings("crossfit", folds=2)
HOW = LoadingSettings(device="cpu", threads=1)
OWNERS = np.arange(3, dtype=np.int32)


@pytest.fixture
def made(tmp_path):
    texts = repeated_by(sharp_model("gru", WORDS, 1), users=6, documents=30, length=12, seed=1)
    rows = [Row(user, text) for user, text in texts]
    corpus = build_rows(rows, tmp_path / "corpus", settings=BuildSettings(validation=0.3))
    train(corpus.path, tmp_path / "model", SHAPE, threads=1)
    return tmp_path / "model", corpus


def found_for(model, corpus, choice=FOLDS):
    silent = lambda *args: None  # noqa: E731
    return public_source(choice, model, corpus, how=HOW, progress=silent)(OWNERS)


def digests_of(folders):
    return tuple(weights_digest(folder) for folder in folders)


def answers_of(model, documents):
    return model.log_probs(documents, np.ones(len(documents.ids), np.bool_))


@pytest.mark.parametrize("choice", [FOLDS, PublicSettings("retrain")])
def test_ratios_are_to_the_finished_models_and_chance_asks_those_of_the_same_stage(made, choice):
    model, corpus = made
    at = model / "snapshots" / "epoch-002"
    found = found_for(at, corpus, choice)
    home = model / "public"
    ends = sorted(home.glob("crossfit-2/fold-*")) or [home / found.record.name]
    stages = [end / "snapshots" / "epoch-002" for end in ends]
    assert found.record.digests == digests_of(ends) != digests_of(stages)
    assert found.record.stage.snapshot == "epoch-002"
    assert found.record.stage.epochs == (2.0,) * len(ends)
    assert found.record.stage.digests == digests_of(stages)
    documents = corpus.load()
    for load, folders in ((found.load, ends), (found.alike.load, stages)):
        models = [load_model(folder).reading(corpus.lexicon) for folder in folders]
        plain = ByUser(models, partial(fold_of, folds=len(models)))
        assert np.allclose(answers_of(load(), documents), answers_of(plain, documents), atol=1e-5)
    same = {"model": at, "corpus": corpus, "how": HOW}
    assert same_public_model(choice, found.record, **same)
    earlier = found.record.model_copy(update={"stage": None})  # as earlier versions judged it
    assert not same_public_model(choice, earlier, **same)
    finished = found_for(model, corpus, choice)
    assert finished.record.stage is None and finished.record.digests == digests_of(ends)
    assert np.array_equal(
        answers_of(finished.alike.load(), documents), answers_of(found.load(), documents)
    )


def test_a_report_on_a_snapshot_says_who_judged(made, tmp_path):
    model, corpus = made
    at = model / "snapshots" / "epoch-002"
    run = report(at, corpus.path, tmp_path / "run", ASKED, FOLDS, threads=1)
    said = json.loads((tmp_path / "run" / "manifest.json").read_text())["public"]
    assert said["stage"]["snapshot"] == "epoch-002" and said["stage"]["epochs"] == [2.0, 2.0]
    assert "What is chance is judged by them as they were at epoch-002." in run.page.read_text()
    assert not any("have not kept" in notice for notice in run.metrics.notices)
    end = report(model, corpus.path, tmp_path / "end", ASKED, FOLDS, threads=1)
    assert open_run(tmp_path / "end")[0].public.stage is None
    assert "as they were at" not in end.page.read_text()


def test_folds_without_the_snapshot_are_read_and_leave_it_open_what_is_chance(made, tmp_path):
    model, corpus = made
    at = model / "snapshots" / "epoch-002"
    found_for(at, corpus)
    shutil.rmtree(model / "public" / "crossfit-2" / "fold-001" / "snapshots" / "epoch-002")
    found = found_for(at, corpus)
    assert found.alike is None and found.record.stage.digests == ()
    run = report(at, corpus.path, tmp_path / "run", ASKED, FOLDS, threads=1)
    assert any("have not kept what they were at epoch-002" in each for each in run.metrics.notices)
    other = report(at, corpus.path, tmp_path / "other", ASKED, threads=1)
    assert run.metrics.leakage_epsilon is not None
    assert run.metrics.chance_unique == other.metrics.chance_unique  # none is struck off


def test_folds_of_another_training_say_nothing_of_chance(made, tmp_path):
    model, corpus = made
    found_for(model, corpus)
    longer = TrainSettings(**(vars(SHAPE) | {"epochs": 3}))
    train(corpus.path, tmp_path / "other", longer, threads=1)
    given = PublicSettings(str(model / "public" / "crossfit-2"))
    found = found_for(tmp_path / "other" / "snapshots" / "epoch-002", corpus, given)
    assert found.record.warnings and found.record.stage is None and found.alike is None


def test_stand_ins_without_the_snapshot_are_refused(made):
    model, corpus = made
    choice = PublicSettings(folds=2, stand_ins="crossfit")
    given = {"how": HOW, "block_list": None, "progress": lambda *args: None}
    at = model / "snapshots" / "epoch-002"
    assert stand_ins_of(choice, at, corpus, **given) is not None
    stand_ins = model / "public" / "stand-ins" / "crossfit-3"
    shutil.rmtree(stand_ins / "fold-002" / "snapshots" / "epoch-002")
    with pytest.raises(LeakscopeError, match="have not kept what they were at epoch-002"):
        stand_ins_of(choice, at, corpus, **given)
    assert stand_ins_of(choice, model, corpus, **given) is not None


def test_a_training_that_ended_earlier_is_asked_at_its_end(made, tmp_path):
    model, corpus = made
    fewer = TrainSettings(**(vars(SHAPE) | {"snapshot_steps": 7, "epochs": 2}))
    train(corpus.path, tmp_path / "short", fewer, threads=1)
    last = model / "snapshots" / "epoch-004"
    assert at_stage_of(last, tmp_path / "short") == tmp_path / "short"
    assert at_stage_of(model / "snapshots" / "epoch-001", tmp_path / "short") is None
    assert at_stage_of(model, tmp_path / "short") == tmp_path / "short"
    assert at_stage_of(last, model) == last
