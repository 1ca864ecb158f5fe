"""Reports during a real training by the Hugging Face Trainer."""

import json

import pyarrow.parquet as pq
import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import Trainer, TrainingArguments

from leakscope.auditing.callback import LeakageCallback, report_on, weights_digest
from leakscope.auditing.public_settings import PublicSettings
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_manifest import open_run
from tiny_causal import fluent, network, tokenizer

TEXTS = [
    "the cat sat on the mat, and the dog sat on the cat.",
    "she sells sea shells by the sea shore",
    "in the end of the day, at the end of the road",
    "call the office at 555-0199 instead!",
] * 3


@pytest.fixture
def fine_tuning(tmp_path):
    """A corpus, and a function that makes a Trainer on its texts."""
    rows = [Row(f"u{index % 4}", text) for index, text in enumerate(TEXTS)]
    corpus = build_rows(
        rows, tmp_path / "c", settings=BuildSettings(validation=0.2), split_given=True
    )
    tok = tokenizer("pieces")
    tok.pad_token = tok.eos_token

    def make(epochs, lora=False):
        net = network("llama", len(tok), scale=0.1).requires_grad_(True)
        if lora:
            net = get_peft_model(net, LoraConfig(r=2, target_modules=["q_proj", "v_proj"]))
        data = [
            {"input_ids": [1, *ids], "labels": [1, *ids], "attention_mask": [1] * (len(ids) + 1)}
            for ids in tok(TEXTS, add_special_tokens=False)["input_ids"]
        ]
        arguments = TrainingArguments(
            output_dir=str(tmp_path / "hf"), num_train_epochs=epochs, learning_rate=0.02,
            per_device_train_batch_size=1, report_to=[], save_strategy="no", use_cpu=True,
            disable_tqdm=True, logging_steps=5, seed=0,
        )  # fmt: skip
        torch.manual_seed(0)
        return Trainer(net, arguments, train_dataset=data, processing_class=tok)

    return corpus, make, tmp_path


def test_reports_are_made_logged_and_compared(fine_tuning):
    corpus, make, folder = fine_tuning
    trainer = make(3)
    callback = LeakageCallback(
        trainer, corpus.path, folder / "runs", ReportSettings(least_context=5), budget=1.0
    )
    trainer.add_callback(callback)
    trainer.train()
    assert [run.name for run in callback.runs] == ["epoch-001", "epoch-002", "epoch-003"]
    lines = [line for line in trainer.state.log_history if "leakage/unique_sequences" in line]
    assert len(lines) == 3
    for run, line in zip(callback.runs, lines, strict=True):
        manifest, metrics = open_run(run)
        assert line["leakage/unique_sequences"] == metrics.unique_sequences
        assert metrics.validation_perplexity is not None
        assert manifest.model.progress.step == line["step"]
    assert len({open_run(run)[0].model_digest for run in callback.runs}) == 3
    assert (folder / "runs" / "compare.html").exists()
    said = json.dumps(trainer.state.log_history)
    assert not [word for word in ("shells", "office", "shore") if word in said]
    assert trainer.model.training  # put back as it was


def test_what_an_interface_leaves_is_logged_by_another_name(fine_tuning):
    corpus, make, folder = fine_tuning
    trainer = make(1)
    asked = ReportSettings(confidence=1.5, least_context=0)
    callback = LeakageCallback(trainer, corpus.path, folder / "runs", asked, budget=1.0)
    trainer.add_callback(callback)
    trainer.train()
    (line,) = [each for each in trainer.state.log_history if any("leakage" in key for key in each)]
    metrics = open_run(folder / "runs" / "epoch-001")[1]
    assert line["leakage_through_interface/unique_sequences"] == metrics.unique_sequences
    assert not [key for key in line if key.startswith("leakage/")]
    assert "Through an interface that" in (folder / "runs" / "compare.html").read_text()


def test_a_gate_stops_the_training_and_a_budget_leaves_reports_out(fine_tuning):
    corpus, make, folder = fine_tuning
    trainer = make(30)
    callback = LeakageCallback(
        trainer, corpus.path, folder / "runs", fail_on=["occurrences>0"], budget=1.0
    )
    trainer.add_callback(callback)
    trainer.train()
    assert callback.stopped_by == "occurrences>0" and trainer.state.epoch < 30
    ticks = iter(range(10_000))
    sparing = make(4)
    callback = LeakageCallback(
        sparing, corpus.path, folder / "few", every_steps=2, budget=0.0, clock=lambda: next(ticks)
    )
    sparing.add_callback(callback)
    sparing.train()
    assert len(callback.runs) == 1 and callback.skipped > 3
    with pytest.raises(LeakscopeError, match="not a gate"):
        LeakageCallback(sparing, corpus.path, folder, fail_on=["nonsense"])
    with pytest.raises(LeakscopeError, match="give a finite number"):
        LeakageCallback(sparing, corpus.path, folder, fail_on=["unique_sequences>1e999"])
    with pytest.raises(LeakscopeError, match="no DP epsilon"):
        LeakageCallback(sparing, corpus.path, folder, fail_on=["dp_epsilon>3"])


def test_adapters_in_training_and_a_base_model_as_the_judge(fine_tuning):
    corpus, make, folder = fine_tuning
    base = fluent(network("llama", len(tokenizer("pieces")), scale=0.1), tokenizer("pieces"))
    base.save_pretrained(folder / "base")
    tokenizer("pieces").save_pretrained(folder / "base")
    trainer = make(6, lora=True)
    callback = LeakageCallback(
        trainer, corpus.path, folder / "runs", ReportSettings(top_k=3),
        PublicSettings(str(folder / "base")), every_epochs=6, budget=1.0,
    )  # fmt: skip
    trainer.add_callback(callback)
    trainer.train()
    (run,) = callback.runs
    manifest, metrics = open_run(run)
    assert manifest.public.name == "base"
    assert metrics.unique_sequences == 0 or metrics.leakage_epsilon > 0


def test_a_loop_of_ones_own(fine_tuning):
    corpus, make, folder = fine_tuning
    net = make(1).model
    before = weights_digest(net)
    net.train()
    metrics = report_on(net, tokenizer("pieces"), corpus.path, folder / "r", step=7)
    assert net.training and metrics.words == corpus.manifest.train.words
    with torch.no_grad():
        next(net.parameters()).add_(1e-3)
    assert weights_digest(net) != before
    table = pq.read_table(folder / "r" / "sequences.parquet")
    assert table["sequence"].null_count == len(table)  # redacted unless asked


def test_a_tokenizer_that_does_not_fit_is_refused_before_the_training(fine_tuning):
    corpus, make, folder = fine_tuning
    trainer = make(1)
    trainer.processing_class = tokenizer("bytes")
    trainer.processing_class.add_tokens([f"word{number}" for number in range(200)])
    with pytest.raises(LeakscopeError, match="tokens beyond the"):
        LeakageCallback(trainer, corpus.path, folder / "runs")


def test_a_gate_on_a_model_that_knows_nothing_is_an_error_at_the_end(fine_tuning):
    corpus, make, folder = fine_tuning
    trainer = make(1)
    trainer.args.learning_rate = 0.0
    callback = LeakageCallback(
        trainer, corpus.path, folder / "runs", budget=1.0, fail_on=["unique_sequences>0"]
    )
    trainer.add_callback(callback)
    with pytest.raises(LeakscopeError, match="cannot be checked: the model predicts its training"):
        trainer.train()
    assert callback.unchecked == callback.runs and callback.stopped_by is None
    assert (folder / "runs" / "compare.html").exists()
