"""Training: it learns, resumes to the same bits, starts warm, and refuses what it must."""

import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.split import VALIDATION
from leakscope.models.evaluation import evaluate
from leakscope.models.word.architecture import KINDS, PRESETS, Architecture
from leakscope.models.word.model_directory import load_config, load_model
from leakscope.models.word.networks import make_network
from leakscope.records.errors import LeakscopeError
from leakscope.training.loop import train
from leakscope.training.steps.batches import TrainingText, epoch_order
from leakscope.training.steps.loss import training_loss
from leakscope.training.train_settings import TrainSettings

TINY = {
    "lstm": Architecture("lstm", 2, 12, 16, dropout=0.1),
    "gru": Architecture("gru", 1, 12, 16),
    "transformer": Architecture("transformer", 1, 16, 16, heads=2, context=12, dropout=0.1),
}


def tiny(kind="gru", **changes):
    options = {
        "epochs": 2,
        "batch_size": 8,
        "vocabulary": 50,
        "max_words": 12,
        "seed": 1,
        "learning_rate": 0.01,
        "checkpoint_steps": 3,
    }
    return TrainSettings(TINY[kind], **(options | changes))


@pytest.fixture
def corpus(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        Row(f"u{i % 9}", " ".join(f"w{a} then w{(a + 1) % 20}" for a in rng.integers(0, 20, 4)))
        for i in range(150)
    ]
    return build_rows(rows, tmp_path / "corpus", settings=BuildSettings(validation=0.2))


@pytest.mark.parametrize("kind", KINDS)
def test_training_learns_and_writes_what_it_promises(kind, corpus, tmp_path):
    out = tmp_path / "model"
    trained = train(corpus, out, tiny(kind, epochs=6))
    history = pq.read_table(out / "history.parquet").to_pylist()
    assert history == trained.history and len(history) == 6
    assert history[-1]["validation_perplexity"] < history[0]["validation_perplexity"] * 0.9
    assert 0 < history[-1]["validation_top1"] <= history[-1]["validation_top3"] <= 1
    assert history[-1]["train_perplexity_low"] < history[-1]["train_perplexity_high"]
    assert sorted(p.name for p in (out / "snapshots").iterdir())[-1] == "epoch-006"
    assert not (out / "checkpoint.json").exists() and not (out / "checkpoints").exists()
    model = load_model(out).reading(corpus.lexicon)
    again = evaluate(model, corpus.documents(VALIDATION), (1, 3, 5))
    assert math.isclose(again.perplexity, history[-1]["validation_perplexity"], rel_tol=1e-5)
    last = load_file(out / "snapshots" / "epoch-006" / "model.safetensors")
    final = load_file(out / "model.safetensors")
    assert all(torch.equal(last[name], final[name]) for name in final)
    config = load_config(out)
    assert config.corpus_digest == corpus.manifest.digest
    assert config.parameters == sum(weight.numel() for weight in final.values())


def weights(path):
    return load_file(path / "model.safetensors")


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_everything(kind, corpus, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(corpus, tmp_path / name, tiny(kind, seed=seed))
    a, b, c = (weights(tmp_path / name) for name in "abc")
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not all(torch.equal(a[name], c[name]) for name in a)


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("optimizer", ["adam", "adamax"])
@pytest.mark.parametrize("stop", [1, 7, 14, 15, 16, 29])
def test_resuming_gives_the_same_bits(kind, optimizer, stop, corpus, tmp_path):
    settings = tiny(kind, optimizer=optimizer)
    train(corpus, tmp_path / "whole", settings)

    def interrupt(stage, done, total=None, note=""):
        if stage == "train" and done == stop:
            raise StoppedError

    with pytest.raises(StoppedError):
        train(corpus, tmp_path / "parts", settings, progress=interrupt)
    train(corpus, tmp_path / "parts", settings)
    whole, parts = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    histories = [
        pq.read_table(tmp_path / name / "history.parquet").drop(["seconds"]).to_pylist()
        for name in ("whole", "parts")
    ]
    assert histories[0] == histories[1]


def test_killed_for_real_it_resumes_to_the_same_bits(corpus, tmp_path):
    settings = tiny("lstm", epochs=30)
    script = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[3])\n"
        "from test_train import tiny; from leakscope.corpus.store import Corpus\n"
        "from leakscope.training.loop import train\n"
        "train(Corpus.open(Path(sys.argv[1])), Path(sys.argv[2]), tiny('lstm', epochs=30))\n"
    )
    here = os.path.dirname(__file__)  # noqa: PTH120
    command = [sys.executable, "-c", script, str(corpus.path), str(tmp_path / "killed"), here]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=env)
    while not (tmp_path / "killed" / "checkpoint.json").exists():
        assert process.poll() is None, "it ended before it could be killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed" / "config.json").exists()
    subprocess.run(command, check=True, env=env)
    command[4] = str(tmp_path / "whole")
    subprocess.run(command, check=True, env=env)
    whole, killed = weights(tmp_path / "whole"), weights(tmp_path / "killed")
    assert all(torch.equal(whole[name], killed[name]) for name in whole)
    assert settings.epochs == len(pq.read_table(tmp_path / "killed" / "history.parquet"))


def test_snapshots_by_steps(corpus, tmp_path):
    train(corpus, tmp_path / "m", tiny(snapshot_steps=10))
    names = sorted(p.name for p in (tmp_path / "m" / "snapshots").iterdir())
    assert names == [f"step-00000{n}0" for n in (1, 2, 3, 4, 5)]
    history = pq.read_table(tmp_path / "m" / "history.parquet").to_pylist()
    assert [line["step"] for line in history][:5] == [10, 20, 30, 40, 50]
    assert history[-1]["epoch"] == 2.0


def test_other_settings_do_not_mix_with_a_checkpoint(corpus, tmp_path):
    def interrupt(stage, done, total=None, note=""):
        if done == 5:
            raise StoppedError

    with pytest.raises(StoppedError):
        train(corpus, tmp_path / "m", tiny(), progress=interrupt)
    with pytest.raises(LeakscopeError, match="other settings"):
        train(corpus, tmp_path / "m", tiny(seed=9))
    train(corpus, tmp_path / "m", tiny())
    with pytest.raises(LeakscopeError, match="already exists"):
        train(corpus, tmp_path / "m", tiny())


def test_warm_start_copies_shared_words_and_keeps_fresh_rows_for_the_rest(corpus, tmp_path):
    other = build_rows(
        [Row("v", "w3 w1 brandnew w1"), Row("w", "then then then brandnew")],
        tmp_path / "other",
        settings=BuildSettings(validation=0.0),
    )
    train(corpus, tmp_path / "first", tiny())
    settings = replace(tiny(), epochs=1, learning_rate=1e-12)
    train(other, tmp_path / "second", settings, warm_start=tmp_path / "first")
    first, second = load_model(tmp_path / "first"), load_model(tmp_path / "second")
    for word in ("w3", "w1", "then"):
        mine = second.network.embedding.weight[second.vocabulary.index(word)]
        theirs = first.network.embedding.weight[first.vocabulary.index(word)]
        assert torch.allclose(mine, theirs, atol=1e-6)
    assert load_config(tmp_path / "second").initialized_from is not None
    assert load_config(tmp_path / "first").initialized_from is None
    with pytest.raises(LeakscopeError, match="another architecture"):
        train(other, tmp_path / "third", tiny("lstm"), warm_start=tmp_path / "first")


def test_batches_hold_every_prediction_of_an_epoch_once():
    rng = np.random.default_rng(0)
    documents = [rng.integers(0, 9, n).tolist() for n in (1, 2, 7, 8, 9, 30, 3, 3, 3)]
    offsets = np.concatenate([[0], np.cumsum([len(d) for d in documents])])
    text = TrainingText(np.concatenate(documents).astype(np.int64), offsets, 9, 8)
    found = []
    for pieces in epoch_order(text, 4, 0, 0):
        batch = text.batch(pieces)
        inputs = batch.inputs.flatten()[batch.places]
        found += zip(inputs.tolist(), batch.labels.tolist(), strict=True)
    expected = [pair for d in documents for pair in zip([9, *d], [*d, 9], strict=True)]
    assert sorted(found) == sorted(expected) and text.words == len(expected)
    orders = [np.concatenate(list(epoch_order(text, 4, 0, epoch))).tolist() for epoch in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]


@pytest.mark.parametrize("kind", KINDS)
def test_loss_equals_a_plain_cross_entropy(kind):
    network = make_network(TINY[kind], 12, torch.Generator().manual_seed(0))
    documents = [[1, 2, 3], [4, 5, 6, 7, 8], [2]]
    offsets = np.array([0, 3, 8, 9])
    text = TrainingText(np.concatenate(documents).astype(np.int64), offsets, 11, 20)
    batch = text.batch(np.arange(3))
    losses = []
    for d in documents:
        logits = network.output(network.hidden(torch.tensor([[11, *d]]))[0])
        losses += torch.nn.functional.cross_entropy(
            logits, torch.tensor([*d, 11]), reduction="none"
        ).tolist()
    found = float(training_loss(network, batch, None).detach())
    assert math.isclose(found, np.mean(losses), rel_tol=1e-5)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_the_papers(name):
    settings = TrainSettings.from_preset(name)
    shape = settings.architecture
    described = (shape.kind, shape.layers, shape.embedding, shape.hidden, shape.dropout)
    assert (described, settings.vocabulary, settings.optimizer) == {
        "lstm-2x128": (("lstm", 2, 128, 128, 0.0), 10_000, "adam"),
        "gru-160-512": (("gru", 1, 160, 512, 0.0), 10_000, "adamax"),
        "lstm-2x550": (("lstm", 2, 550, 550, 0.0), 40_000, "adam"),
        "lstm-2x200": (("lstm", 2, 200, 200, 0.0), 10_000, "adam"),
        "lstm-160-512": (("lstm", 1, 160, 512, 0.1), 10_000, "adam"),
        "lstm-2x512": (("lstm", 2, 512, 512, 0.1), 20_000, "adam"),
        "transformer-4x6x192": (("transformer", 4, 192, 192, 0.1), 10_000, "adam"),
    }[name]
    network = make_network(shape, settings.vocabulary + 2)
    parameters = sum(weight.numel() for weight in network.parameters())
    if name == "lstm-2x128":
        assert parameters < 3_000_000  # "less than 3M parameters", Inan et al. 6.1
    if shape.kind == "transformer":
        assert shape.heads == 6


def test_every_position_of_a_transformer_is_trained():
    for words in (11, 13):
        with pytest.raises(LeakscopeError, match="context of 12 words"):
            tiny("transformer", max_words=words)


def test_no_validation_documents_is_null_not_zero(tmp_path):
    corpus = build_rows(
        [Row("a", "x y z")] * 9, tmp_path / "c", settings=BuildSettings(validation=0.0)
    )
    trained = train(corpus, tmp_path / "m", tiny())
    assert trained.history[-1]["validation_perplexity"] is None
    assert trained.history[-1]["validation_top1"] is None


def test_words_of_validation_only_stay_unknown(tmp_path):
    rows = [Row(f"u{i}", f"common word{i}") for i in range(40)]
    corpus = build_rows(rows, tmp_path / "c", settings=BuildSettings(validation=0.3))
    train(corpus, tmp_path / "m", tiny(vocabulary=10_000))
    assert len(load_model(tmp_path / "m").vocabulary) == corpus.manifest.train.documents + 1


def test_killed_before_the_first_checkpoint_it_starts_again(corpus, tmp_path):
    (tmp_path / "m" / "snapshots" / "epoch-001").mkdir(parents=True)
    (tmp_path / "m" / "history.parquet").write_text("half")
    (tmp_path / "m" / ".leakscope").write_text('{"unfinished":"train","version":1}')
    train(corpus, tmp_path / "m", tiny())
    assert load_config(tmp_path / "m").progress["step"] > 0


def test_a_diverging_training_says_so(corpus, tmp_path):
    with pytest.raises(LeakscopeError, match="lower --learning-rate"):
        train(corpus, tmp_path / "m", tiny("transformer", learning_rate=1e30, epochs=9))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "at least 1"),
        ({"optimizer": "sgd"}, "adam or adamax"),
        ({"learning_rate": 0.0}, "positive"),
        ({"max_words": 1}, "at least 2 words"),
    ],
)
def test_settings_are_checked(change, message):
    with pytest.raises(LeakscopeError, match=message):
        tiny(**change)


def test_stops_at_the_first_snapshot_that_is_good_enough(corpus, tmp_path):
    whole = train(corpus, tmp_path / "whole", tiny(epochs=6, snapshot_steps=5))
    found = [line["validation_perplexity"] for line in whole.history]
    wanted = sorted(found)[len(found) // 2]  # neither the first nor the last line meets it
    first = next(i for i, value in enumerate(found) if value <= wanted)
    assert 0 < first < len(found) - 1
    settings = tiny(epochs=6, snapshot_steps=5, until_perplexity=wanted)
    stopped = train(corpus, tmp_path / "stopped", settings)
    assert not stopped.missed
    assert [line["validation_perplexity"] for line in stopped.history] == found[: first + 1]
    name = f"step-{stopped.history[-1]['step']:07d}"
    for path in ("stopped", f"whole/snapshots/{name}", f"stopped/snapshots/{name}"):
        weights = load_file(tmp_path / path / "model.safetensors")
        assert all(
            torch.equal(weights[key], value)
            for key, value in load_file(tmp_path / "stopped" / "model.safetensors").items()
        )


def test_says_when_the_perplexity_to_stop_at_was_not_reached(corpus, tmp_path):
    told = []
    trained = train(
        corpus, tmp_path / "m", tiny(epochs=1, until_perplexity=1.01),
        progress=lambda *args: told.append(args[-1]),
    )  # fmt: skip
    assert trained.missed == (
        "A validation perplexity of 1.01 was not reached; train for more --epochs.",
    )
    assert trained.missed[0] in told


def test_stopping_at_a_perplexity_needs_validation_documents(tmp_path):
    rows = [Row(f"u{i}", "one two three four") for i in range(9)]
    built = build_rows(rows, tmp_path / "corpus", settings=BuildSettings(validation=0.0))
    with pytest.raises(LeakscopeError, match="Without validation documents"):
        train(built, tmp_path / "m", tiny(until_perplexity=5.0))
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("value", [1.0, 0.5, -3.0, math.inf, math.nan])
def test_refuses_a_perplexity_that_cannot_be(value):
    with pytest.raises(LeakscopeError, match="must be above 1"):
        tiny(until_perplexity=value)
