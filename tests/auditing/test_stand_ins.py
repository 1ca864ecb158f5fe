"""Stand-ins: what they show of users that they never saw, against plain loops; who is refused."""

import math
import shutil
from collections import defaultdict

import numpy as np
import pytest
import torch

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.public_settings import PublicSettings
from leakscope.auditing.public_training import fold_of
from leakscope.auditing.stand_in_models import same_stand_ins, stand_ins_of
from leakscope.commands.report import report
from leakscope.commands.train import train
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.models.word.architecture import Architecture
from leakscope.models.word.model_directory import load_config, load_model, weights_digest
from leakscope.records.artifacts import read_parquet
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_manifest import open_run
from leakscope.training.train_settings import TrainSettings
from small_models import repeated_by, sharp_model

WORDS = [first + second for first in "bdgkmnrt" for second in "aeiou"]
SHAPE = TrainSettings(
    Architecture("gru", 1, 12, 24), vocabulary=40, epochs=8, batch_size=8, learning_rate=0.03
)
ASKED = ReportSettings(top_k=3, reveal=True, least_context=0)
BOTH = PublicSettings("crossfit", folds=2, stand_ins="crossfit")
HOW = LoadingSettings(device="cpu", threads=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A corpus without held-out documents, and a model that has learnt it."""
    folder = tmp_path_factory.mktemp("stand-ins")
    texts = repeated_by(sharp_model("gru", WORDS, 1), users=6, documents=40, length=16, seed=1)
    rows = [Row(user, text) for user, text in texts]
    corpus = build_rows(rows, folder / "corpus", settings=BuildSettings(validation=0.0))
    train(corpus.path, folder / "model", SHAPE, threads=1)
    run = report(folder / "model", corpus.path, folder / "run", ASKED, BOTH, threads=1)
    return folder, corpus, run


def runs_shown(corpus, folds):
    """(user, words, perplexity, document) of the maximal runs that the models in `folds` predict,
    each of users that it was trained without.
    """
    models = [load_model(fold).reading(corpus.lexicon) for fold in folds]
    found = []
    for documents in corpus.documents():
        for index in range(len(documents)):
            user = int(documents.users[index])
            one = documents.take(np.array([index]))
            model = models[int(fold_of(np.array([user]), len(models))[0])]
            scores = model.score(one, top_k=3)
            run = []
            for place, (word, rank) in enumerate(zip(one.ids, scores.rank, strict=True)):
                if rank < 3:
                    run.append(place)
                if run and (rank >= 3 or place == len(one.ids) - 1):
                    mean = -float(np.mean(scores.log_prob[run]))
                    words = tuple(int(word) for word in one.ids[run])
                    found.append((user, words, math.exp(mean), index))
                    run = []
    return found


def users_in(corpus, words):
    return {
        int(documents.users[index])
        for documents in corpus.documents()
        for index in range(len(documents))
        if any(
            tuple(documents.words_of(index)[at : at + len(words)].tolist()) == words
            for at in range(len(documents.words_of(index)))
        )
    }


def test_decoys_are_the_unique_sequences_of_models_that_never_saw_their_user(made):
    folder, corpus, run = made
    folds = sorted((folder / "model" / "public" / "stand-ins" / "crossfit-3").glob("fold-*"))
    shown = {words for _, words, _, _ in runs_shown(corpus, folds)}
    unique = {words for words in shown if len(users_in(corpus, words)) == 1}
    assert run.metrics.decoys == run.metrics.chance_unique == len(unique) > 10
    assert run.metrics.decoy_words == run.metrics.words
    assert run.metrics.chance_source == "stand-ins" and run.metrics.least_confirmable == 20
    lengths = defaultdict(int)
    for words in unique:
        lengths[len(words)] += 1
    assert run.metrics.chance_by_length == lengths
    manifest, _ = open_run(folder / "run")
    assert manifest.stand_ins.digests == tuple(weights_digest(fold) for fold in folds)
    assert {load_config(fold).training["seed"] for fold in folds} == {SHAPE.seed + 1}


def test_q_values_follow_from_both_lists(made):
    folder, corpus, run = made
    public = sorted((folder / "model" / "public" / "crossfit-2").glob("fold-*"))
    folds = sorted((folder / "model" / "public" / "stand-ins" / "crossfit-3").glob("fold-*"))
    judges = [load_model(fold).reading(corpus.lexicon) for fold in public]
    best: dict[tuple[int, ...], float] = {}
    for documents in corpus.documents():
        found = runs_shown(corpus, folds)
        for user, words, perplexity, index in found:
            if len(users_in(corpus, words)) > 1:
                continue
            one = documents.take(np.array([index]))
            judge = judges[int(fold_of(np.array([user]), len(judges))[0])]
            logs = judge.log_probs(one, np.ones(len(one.ids), np.bool_))
            for at in range(len(one.ids) - len(words) + 1):
                if tuple(one.ids[at : at + len(words)].tolist()) == words:
                    theirs = math.exp(-float(np.mean(logs[at : at + len(words)])))
                    best[words] = max(best.get(words, 0), theirs / perplexity)
    decoys = sorted(len(words) * math.log(ratio) for words, ratio in best.items())
    table = read_parquet(folder / "run" / "sequences.parquet").to_pylist()
    rows = [row for row in table if row["users_in_d"] == 1]
    scores = [row["length"] * math.log(row["ratio"]) for row in rows]
    for row, score in zip(rows, scores, strict=True):
        rates = [
            (1 + sum(decoy >= bar - 1e-4 for decoy in decoys))
            / sum(other >= bar - 1e-9 for other in scores)
            for bar in scores
            if bar <= score
        ]
        assert row["q_value"] == pytest.approx(min([1.0, *rates]), abs=0.02)
    assert run.metrics.confirmed_unique == sum(row["q_value"] <= 0.05 for row in rows)


def test_models_like_it_confirm_nothing_of_each_other_and_memory_is_confirmed(made, tmp_path):
    folder, corpus, run = made
    assert run.metrics.unique_sequences > run.metrics.chance_unique
    # Without a public model, sequences are ordered by length.
    alone = PublicSettings(folds=2, stand_ins="crossfit")
    plain = report(folder / "model", corpus.path, tmp_path / "run", ASKED, alone, threads=1)
    assert plain.metrics.chance_unique == run.metrics.chance_unique
    assert plain.metrics.leakage_epsilon is None and plain.metrics.confirmed_unique is not None
    page = (tmp_path / "run" / "report.html").read_text()
    assert "models like this one show of users that they never saw" in page
    assert "held-out word" not in page


def stand_ins(choice, model, corpus):
    return stand_ins_of(
        choice, model, corpus, how=HOW, block_list=None, progress=lambda *args: None
    )


def test_a_snapshot_is_judged_by_stand_ins_of_the_same_stage(made):
    folder, corpus, _ = made
    at = folder / "model" / "snapshots" / "epoch-002"
    found = stand_ins(BOTH, at, corpus)
    folds = sorted((folder / "model" / "public" / "stand-ins" / "crossfit-3").glob("fold-*"))
    stages = [fold / "snapshots" / "epoch-002" for fold in folds]
    assert found.record.digests == tuple(weights_digest(stage) for stage in stages)
    assert found.record.digests != tuple(weights_digest(fold) for fold in folds)
    assert same_stand_ins(BOTH, found.record, at, corpus)
    assert not same_stand_ins(BOTH, found.record, folder / "model", corpus)
    assert not same_stand_ins(PublicSettings(), found.record, at, corpus)
    assert not same_stand_ins(BOTH, None, at, corpus)
    assert same_stand_ins(PublicSettings(), None, at, corpus)


def test_stand_ins_of_another_training_are_refused(made, tmp_path):
    folder, corpus, _ = made
    given = str(folder / "model" / "public" / "stand-ins" / "crossfit-3")
    fewer = TrainSettings(**(vars(SHAPE) | {"epochs": 1}))
    train(corpus.path, tmp_path / "other", fewer, threads=1)
    with pytest.raises(LeakscopeError, match=r"not trained like .* \(epochs 8 before, 1 now\)"):
        stand_ins(PublicSettings(stand_ins=given), tmp_path / "other", corpus)
    assert stand_ins(PublicSettings(stand_ins=given), folder / "model", corpus) is not None
    mixed = tmp_path / "mixed"
    shutil.copytree(given, mixed)
    shutil.rmtree(mixed / "fold-001")
    shutil.copytree(mixed / "fold-000", mixed / "fold-001")
    with pytest.raises(LeakscopeError, match="not trained without the users"):
        stand_ins(PublicSettings(stand_ins=str(mixed)), folder / "model", corpus)
    rows = [Row(f"user{u}", "ba be bi bo") for u in range(6)]
    elsewhere = build_rows(rows, tmp_path / "corpus", settings=BuildSettings(validation=0.0))
    train(elsewhere.path, tmp_path / "there", fewer, threads=1)
    with pytest.raises(LeakscopeError, match="for another corpus"):
        stand_ins(PublicSettings(stand_ins=given), tmp_path / "there", elsewhere)
    with pytest.raises(LeakscopeError, match="which is not known here"):
        stand_ins(BOTH, None, corpus)
    assert stand_ins(PublicSettings(), None, corpus) is None


def test_stand_ins_stand_behind_the_interface(made, tmp_path):
    folder, corpus, run = made
    torch.set_num_threads(1)
    hardened = ReportSettings(top_k=3, confidence=1.05, least_context=0)
    behind = report(folder / "model", corpus.path, tmp_path / "run", hardened, BOTH, threads=1)
    assert behind.metrics.chance_unique < run.metrics.chance_unique
