"""Networks and optimizers that a private loop refuses, and hands that it keeps off them."""

import pytest
import torch
from torch import nn

from leakscope.records.errors import LeakscopeError
from leakscope.training import LoopOptions, PrivacySettings, make_private
from plain_steps import drawn_network, drawn_users

SETTINGS = PrivacySettings(rate=1.0, noise_multiplier=1.0, insecure_seed=1)


def loop(network, optimizer, out, **changes):
    given = {"steps": 5, "out": out} | changes
    return make_private(network, optimizer, drawn_users(6), SETTINGS, **given)


def sgd(network):
    return torch.optim.SGD(network.parameters(), lr=0.1)


def numbers(network, out, **changes):
    """A loop over rows of four numbers."""
    data = [[torch.full((4,), float(user))] for user in range(6)]
    given = {"steps": 5, "out": out} | changes
    options = LoopOptions(lambda network, rows: network(rows).flatten(1).sum(1), torch.stack)
    return make_private(network, sgd(network), data, SETTINGS, options=options, **given)


@pytest.mark.parametrize("layer", [nn.BatchNorm1d(4), nn.SyncBatchNorm(4)])
def test_batch_normalization_is_refused(layer, tmp_path):
    with pytest.raises(LeakscopeError, match="users meet"):
        numbers(nn.Sequential(nn.Linear(4, 4), layer), tmp_path)
    numbers(nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), tmp_path).take()


def test_copies_of_a_network_are_refused(tmp_path):
    with pytest.raises(LeakscopeError, match="network itself"):
        numbers(nn.DataParallel(nn.Linear(4, 4)), tmp_path)


def test_half_precision_is_refused_where_it_is_trained(tmp_path):
    network = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1)).bfloat16()
    with pytest.raises(LeakscopeError, match="float32 or float64"):
        numbers(network, tmp_path)
    network[0].bfloat16().requires_grad_(False)
    network[1].float()
    network.forward = lambda rows: network[1](network[0](rows.bfloat16()).float())
    numbers(network, tmp_path).take()


def test_a_network_without_trained_weights_is_refused(tmp_path):
    network = drawn_network("gpt2")
    optimizer = sgd(network)
    network.requires_grad_(False)
    with pytest.raises(LeakscopeError, match="requires a gradient"):
        loop(network, optimizer, tmp_path)


def test_dropout_is_not_used_also_if_the_caller_switches_it_on(tmp_path):
    """The same seed gives the same steps only where nothing is dropped."""
    ends = []
    for name in ("one", "two"):
        network = drawn_network("gpt2-lora")
        optimizer = torch.optim.SGD([w for w in network.parameters() if w.requires_grad], lr=0.1)
        for _ in loop(network, optimizer, tmp_path / name):
            network.train()
        ends.append(next(weight for weight in network.parameters() if weight.requires_grad))
    assert torch.equal(*ends)


def test_the_optimizer_holds_the_trained_weights_and_no_others(tmp_path):
    network, other = drawn_network("gpt2"), nn.Linear(2, 2)
    weights = list(network.parameters())
    for held in (weights[:-1], [*weights, *other.parameters()], other.parameters()):
        with pytest.raises(LeakscopeError, match="exactly"):
            loop(network, torch.optim.SGD(held, lr=0.1), tmp_path)
    assert not list(tmp_path.iterdir())


def test_frozen_weights_in_the_optimizer_stay_as_they_are(tmp_path):
    network = drawn_network("gpt2")
    frozen = network.transformer.wpe.weight.requires_grad_(False)
    frozen.grad = torch.ones_like(frozen)  # of a training before
    before = frozen.clone()
    list(loop(network, torch.optim.AdamW(network.parameters(), lr=0.1), tmp_path))
    assert torch.equal(frozen, before)


def test_gradients_from_before_have_no_part(tmp_path):
    ends = []
    for name in ("with", "without"):
        network = drawn_network("gpt2")
        if name == "with":
            network(input_ids=torch.tensor([[1, 2]])).logits.sum().backward()
        loop(network, sgd(network), tmp_path / name).take()
        ends.append(next(network.parameters()))
    assert torch.equal(*ends)


def test_an_optimizer_with_a_closure_is_refused(tmp_path):
    network = drawn_network("gpt2")
    with pytest.raises(LeakscopeError, match="gradients of its own"):
        loop(network, torch.optim.LBFGS(network.parameters()), tmp_path)


def test_a_wrapped_optimizer_is_refused(tmp_path):
    import accelerate

    network = drawn_network("gpt2")
    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
    try:
        wrapped = accelerator.prepare_optimizer(sgd(network))
        with pytest.raises(LeakscopeError, match="optimizer itself"):
            loop(network, wrapped, tmp_path)
    finally:
        accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)


def test_what_is_no_optimizer_is_refused(tmp_path):
    network = drawn_network("gpt2")
    with pytest.raises(LeakscopeError, match="PyTorch"):
        loop(network, 0.1, tmp_path)


def test_an_optimizer_that_leaves_its_step_out_is_noticed(tmp_path):
    network = drawn_network("gpt2")
    optimizer = sgd(network)
    private = loop(network, optimizer, tmp_path)
    optimizer.step = lambda: None
    with pytest.raises(LeakscopeError, match="exactly one step"):
        private.take()
    assert private.record().steps == 1  # its noise was drawn: it counts
    assert private.done == 0


def test_the_caller_does_not_step(tmp_path):
    network = drawn_network("gpt2")
    optimizer = sgd(network)
    private = loop(network, optimizer, tmp_path)
    for taken in private:
        before = [weight.detach().clone() for weight in network.parameters()]
        with pytest.raises(LeakscopeError, match=r"leave out optimizer\.step"):
            optimizer.step()
        assert all(map(torch.equal, network.parameters(), before))
        optimizer.zero_grad()  # does no harm
        optimizer.zero_grad(set_to_none=False)
        if taken.step == 2:
            break
    private.close()
    optimizer.step()


def test_gradient_accumulation_is_refused(tmp_path):
    network = drawn_network("gpt2")
    private = loop(network, sgd(network), tmp_path)
    private.take()
    network(input_ids=torch.tensor([[1, 2, 3]])).logits.sum().backward()
    with pytest.raises(LeakscopeError, match="gradient accumulation"):
        private.take()
    assert private.record().steps == 1


def test_training_behind_the_loops_back_is_noticed(tmp_path):
    network = drawn_network("gpt2")
    private = loop(network, sgd(network), tmp_path)
    private.take()
    second = sgd(network)
    network(input_ids=torch.tensor([[1, 2, 3]])).logits.sum().backward()
    second.step()
    second.zero_grad()
    with pytest.raises(LeakscopeError, match="changed between"):
        private.take()
    assert private.record().steps == 1


@pytest.mark.parametrize("how", ["frozen", "added"])
def test_other_weights_than_at_first_are_noticed(how, tmp_path):
    network = drawn_network("gpt2")
    optimizer = sgd(network)
    private = loop(network, optimizer, tmp_path)
    private.take()
    if how == "frozen":
        network.transformer.wpe.weight.requires_grad_(False)
    else:
        optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(2))]})
    with pytest.raises(LeakscopeError, match="make_private was given"):
        private.take()


def test_evaluating_schedules_and_saving_are_allowed(tmp_path):
    network = drawn_network("gpt2")
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.1, weight_decay=0.1)
    private = loop(network, optimizer, tmp_path)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)
    for _ in private:
        schedule.step()
        with torch.no_grad():
            network(input_ids=torch.tensor([[1, 2, 3]]))
        kept = {name: each.clone() for name, each in network.state_dict().items()}
        state = optimizer.state_dict()
    assert private.done == 5
    assert kept.keys() == network.state_dict().keys()
    assert len(state["state"]) == len(list(network.parameters()))
    assert optimizer.param_groups[0]["lr"] == 0.1 / 32


def test_two_loops_do_not_share_an_optimizer(tmp_path):
    network = drawn_network("gpt2")
    optimizer = sgd(network)
    first = loop(network, optimizer, tmp_path)
    first.take()
    with pytest.raises(LeakscopeError, match=r"close\(\) that first"):
        loop(network, optimizer, tmp_path, done=1)
    first.close()
    loop(network, optimizer, tmp_path, done=1).take()


class Remembers(nn.Module):
    """Keeps a mean of what it saw, as a layer with statistics of its own would."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, rows):
        self.seen.add_(rows.mean(0))
        return self.layer(rows)


def test_a_network_that_remembers_texts_is_refused(tmp_path):
    private = numbers(Remembers(), tmp_path)
    with pytest.raises(LeakscopeError, match="buffers"):
        private.take()
    assert private.record().steps == 0
