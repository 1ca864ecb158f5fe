"""Weights that blow up are told of, by nothing but the weights."""

import pyarrow.parquet as pq
import pytest
import torch

from leakscope.models.word.model_directory import load_config
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.weight_growth import WeightGrowth
from leakscope.training.loop import train
from leakscope.training.mitigations.dp import PrivateTraining
from private_training import private, tiny_corpus


def test_growth_is_that_of_all_weights_together():
    weights = [torch.full((3, 4), 2.0), torch.full((5,), -1.0)]
    growth = WeightGrowth(weights)
    assert growth.now(0) == pytest.approx(1) and growth.caveats(0) == []
    for weight in weights:
        weight.mul_(20)
    assert growth.now(7) == pytest.approx(20)
    assert "20 times their first norm" in growth.caveats(7)[0]
    weights[1][2] = torch.nan
    with pytest.raises(LeakscopeError, match="not finite after 7 steps; lower --learning-rate"):
        growth.now(7)


def test_a_training_that_diverges_says_so_in_history_and_record(tmp_path):
    corpus = tiny_corpus(tmp_path / "corpus")
    train(corpus, tmp_path / "calm", private())
    train(corpus, tmp_path / "wild", private(learning_rate=30.0))
    calm, wild = (load_config(tmp_path / name).privacy.caveats for name in ("calm", "wild"))
    assert not any("first norm" in caveat for caveat in calm)
    assert sum("probably diverged" in caveat for caveat in wild) == 1
    told = pq.read_table(tmp_path / "wild" / "history.parquet")["weight_growth"].to_pylist()
    assert told[-1] > 10 and len(told) == 2


def test_weights_that_are_no_numbers_are_never_kept(tmp_path, monkeypatch):
    take = PrivateTraining.take

    def broken(self, step):
        found = take(self, step)
        if step == 2:
            next(self._bench.network.parameters()).data[0] = torch.inf
        return found

    monkeypatch.setattr(PrivateTraining, "take", broken)
    corpus = tiny_corpus(tmp_path / "corpus")
    with pytest.raises(LeakscopeError, match="The weights are not finite"):
        train(corpus, tmp_path / "m", private(checkpoint_steps=3))
    assert not (tmp_path / "m" / "checkpoint.json").exists()
    assert not (tmp_path / "m" / "config.json").exists()
