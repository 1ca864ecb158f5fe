"""Regularizers in a real training by the Hugging Face Trainer."""

import re
from pathlib import Path

import pytest
import torch
from transformers import Trainer, TrainingArguments

import tiny_causal
from leakscope.records.errors import LeakscopeError
from leakscope.training import (
    AdversarialSettings,
    AdversarialTerm,
    RegularizedTrainer,
    TripletSettings,
    TripletTerm,
)
from leakscope.training.regularizers.regularized_trainer import last_states

AUTHORS, WIDTH, TOKENS = 4, 16, 30


class PrivateTrainer(RegularizedTrainer, Trainer):
    pass


def examples(count=32, seed=0):
    """Each author prefers tokens of their own."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for index in range(count):
        author = index % AUTHORS
        ids = torch.randint(0, 10, (6,), generator=generator) + 5 * author
        row = ids.tolist()
        found.append({"input_ids": row, "labels": row, "attention_mask": [1] * 6, "author": author})
    return found


def trainer(folder, term, kind=PrivateTrainer, data=None, **changes):
    model = tiny_causal.network("gpt2", TOKENS, scale=0.1).requires_grad_(True)
    arguments = TrainingArguments(
        **{
            "output_dir": str(folder), "num_train_epochs": 4, "learning_rate": 0.01,
            "per_device_train_batch_size": 8, "report_to": [], "save_strategy": "no",
            "use_cpu": True, "disable_tqdm": True, "logging_steps": 4, "seed": 0,
            "remove_unused_columns": False, **changes,
        }
    )  # fmt: skip
    torch.manual_seed(0)
    given = {} if term is None else {"author_term": term}
    return kind(model, arguments, train_dataset=data or examples(), **given)


def term_of(name):
    if name == "triplet":
        return TripletTerm(TripletSettings(5.0))
    return AdversarialTerm(AdversarialSettings(5.0, discriminator_width=32), WIDTH, AUTHORS)


def without_author(data):
    return [{name: row[name] for name in row if name != "author"} for row in data]


@pytest.mark.parametrize("name", ["adversarial", "triplet"])
def test_either_term_is_added_logged_and_left_out_of_evaluation(tmp_path, name):
    made = trainer(tmp_path, term_of(name))
    made.train()
    lines = [line for line in made.state.log_history if "loss" in line]
    assert len(lines) == 4 and all("privacy/privacy_loss" in line for line in lines)
    if name == "adversarial":
        assert all("privacy/discriminator_accuracy" in line for line in lines)
    plain = trainer(tmp_path, None, kind=Trainer, data=without_author(examples()))
    plain.train()
    weights = [each.model.transformer.wte.weight for each in (made, plain)]
    assert not torch.allclose(*weights), "the term changes the training"
    held_out = examples(8, seed=1)
    told = made.evaluate(held_out)["eval_loss"]
    plain.model.load_state_dict(made.model.state_dict())
    assert told == pytest.approx(plain.evaluate(without_author(held_out))["eval_loss"])


@pytest.mark.parametrize("name", ["adversarial", "triplet"])
def test_the_loss_is_the_words_loss_and_the_weighted_term(tmp_path, name):
    term, twin = term_of(name), term_of(name)
    made = trainer(tmp_path, term)
    made.model.train()
    made.model.transformer.drop.p = 0.0
    for block in made.model.transformer.h:
        block.attn.attn_dropout.p = block.attn.resid_dropout.p = block.mlp.dropout.p = 0.0
    made.state.epoch = 1.0
    rows = examples(8)
    inputs = {key: torch.tensor([row[key] for row in rows]) for key in rows[0]}
    found = made.compute_loss(made.model, dict(inputs))
    outputs = made.model(
        input_ids=inputs["input_ids"], labels=inputs["labels"], output_hidden_states=True
    )
    expected = outputs.loss + 5.0 * twin.loss(outputs.hidden_states[-1][:, -1], inputs["author"])
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    halved = made.compute_loss(made.model, dict(inputs), num_items_in_batch=torch.tensor(40))
    assert torch.isfinite(halved)


def test_accumulated_steps_count_the_term_once(tmp_path):
    """Two half batches with accumulated gradients weigh the term like one batch."""
    seen = []

    class Fixed(TripletTerm):
        def loss(self, states, authors):
            seen.append(len(states))
            return states.sum() * 0 + 1.0

    for size, steps in ((8, 1), (4, 2)):
        term = Fixed(TripletSettings(5.0))
        made = trainer(
            tmp_path, term, per_device_train_batch_size=size,
            gradient_accumulation_steps=steps, num_train_epochs=1, learning_rate=0.0,
        )  # fmt: skip
        made.train()
        seen.append([line["loss"] for line in made.state.log_history if "loss" in line])
    losses = [each for each in seen if isinstance(each, list)]
    assert losses[0] == pytest.approx(losses[1], abs=0.05), "a doubled term would be 5 more"


def test_what_it_cannot_do_is_said(tmp_path):
    term = term_of("adversarial")
    with pytest.raises(LeakscopeError, match="remove_unused_columns=False"):
        trainer(tmp_path, term, remove_unused_columns=True)
    made = trainer(tmp_path, term, data=without_author(examples()))
    with pytest.raises(LeakscopeError, match="have no author"):
        made.train()


def test_the_last_state_is_that_of_the_last_token_on_either_side_of_the_padding():
    states = torch.arange(12.0).reshape(2, 3, 2)
    mask = torch.tensor([[1, 1, 0], [0, 1, 1]])
    assert last_states(states, mask).tolist() == [[2, 3], [10, 11]]
    assert last_states(states, None).tolist() == [[4, 5], [10, 11]]


@pytest.mark.filterwarnings("ignore:'pin_memory'")
def test_the_example_of_the_documentation_runs(tmp_path, monkeypatch):
    page = Path(__file__).parents[3] / "docs" / "regularizers.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    data = examples()
    model = tiny_causal.network("gpt2", TOKENS, scale=0.1).requires_grad_(True)
    names = {"model": model, "data": data}
    exec(compile(code, str(page), "exec"), names)
    assert names["trainer"].state.global_step > 0
