"""Clipped sums of Hugging Face networks, and of other modules, against a plain loop over users."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.checkpoint import checkpoint

import tiny_causal
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.clipping.module_clipper import ModuleClipper, TokenRows, next_token_loss
from plain_loop import assert_same, between, clipped_sum

METHODS = ("microbatch", "ghost")
KINDS = ("gpt2", "llama", "llama-tied", "gpt2-lora")
ENTRIES = 19


def drawn_network(kind, seed=0, exact=True):
    """A tiny network in float64. Llama's own norm computes in float32 whatever it is given, so
    `exact` puts PyTorch's in its place.
    """
    network = tiny_causal.network(kind.split("-")[0], ENTRIES, seed, context=16).double()
    network.requires_grad_(True)
    if kind == "llama-tied":
        network.lm_head.weight = network.model.embed_tokens.weight
        network.model.embed_tokens.padding_idx = 3
    if kind.startswith("llama") and exact:
        for holder in [network.model, *network.model.layers]:
            for name, layer in list(holder.named_children()):
                if type(layer).__name__ == "LlamaRMSNorm":
                    plain = nn.RMSNorm(16, eps=layer.variance_epsilon, dtype=torch.float64)
                    setattr(holder, name, plain)
    generator = torch.Generator().manual_seed(seed)
    if kind == "gpt2-lora":
        import peft

        settings_ = peft.LoraConfig(r=3, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True)
        network = peft.get_peft_model(network, settings_).double().eval()
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if "norm" in name or "ln_" in name or "lora" in name:
                weight.add_(torch.randn(weight.shape, generator=generator).double() * 0.2)
    return network


def drawn_rows(users, most, seed, longest=9):
    rng = np.random.default_rng(seed)
    owners = rng.permutation(np.repeat(np.arange(users), rng.integers(1, most + 1, users)))
    lengths = rng.integers(2, longest + 1, len(owners))
    mask = torch.from_numpy(np.arange(lengths.max()) < lengths[:, None])
    ids = torch.from_numpy(rng.integers(0, ENTRIES, mask.shape))
    return TokenRows(ids, mask), owners


def plain_losses(network, rows, owners, users, shares):
    """One text at a time, without its padding."""
    for user in range(users):
        total = 0.0
        for row in np.flatnonzero(owners == user):
            ids = rows.ids[row][rows.mask[row]]
            logits = network(input_ids=ids[None]).logits[0, :-1]
            total += nn.functional.cross_entropy(logits, ids[1:], reduction="sum")
        yield total * shares[user]


def compare(network, rows, owners, users, where, method, relative=1e-10, **options):
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    words = torch.from_numpy(np.bincount(owners, rows.mask[:, 1:].sum(1).numpy(), users))
    shares = 1 / words
    _, norms = clipped_sum(plain_losses(network, rows, owners, users, shares), weights, 1.0)
    clip = between(norms, where)
    expected, _ = clipped_sum(plain_losses(network, rows, owners, users, shares), weights, clip)
    clipper = ModuleClipper(network, clip, method=method, **options)
    for _ in range(2):
        found = clipper.write(rows, owners, users, shares)
        assert_same([weight.grad for weight in weights], expected, relative)
        assert found.norms.numpy() == pytest.approx(norms, rel=relative)
    assert clipper.method == ("ghost" if method == "auto" else method)
    assert all(weight.grad is None for weight in network.parameters() if not weight.requires_grad)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(
    users=st.integers(1, 5),
    most=st.sampled_from([1, 2, 6]),
    where=st.sampled_from(["below", "amid", "above"]),
    memory=st.sampled_from([0, 3 * 4 * 9 * 1024, 2**29]),
    seed=st.integers(0, 10_000),
)
def test_the_sum_is_that_of_a_plain_loop(kind, method, users, most, where, memory, seed):
    rows, owners = drawn_rows(users, most, seed)
    compare(drawn_network(kind, seed), rows, owners, users, where, method, memory=memory)


@pytest.mark.parametrize("kind", KINDS)
def test_a_user_with_a_hundred_texts_beside_one_with_one(kind):
    rows, owners = drawn_rows(100, 1, 1)
    users = np.minimum(owners, 2)
    compare(drawn_network(kind), rows, users, 3, "amid", "auto")


def test_norms_of_transformers_itself():
    rows, owners = drawn_rows(4, 3, 0)
    compare(drawn_network("llama", exact=False), rows, owners, 4, "amid", "auto", relative=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_biases_alone_can_be_trained(method):
    network = drawn_network("gpt2")
    for name, weight in network.named_parameters():
        weight.requires_grad_(name.endswith("bias"))
    rows, owners = drawn_rows(4, 3, 0)
    compare(network, rows, owners, 4, "amid", method)


@pytest.mark.parametrize("method", METHODS)
def test_texts_without_a_second_token_give_zero(method):
    network = drawn_network("gpt2")
    rows = TokenRows(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[True, False]] * 2))
    found = ModuleClipper(network, 1.0, method=method).write(rows, np.array([0, 1]), 3)
    assert found.norms.tolist() == [0, 0, 0]
    assert all(not weight.grad.any() for weight in network.parameters())


@pytest.mark.parametrize("method", METHODS)
def test_weights_that_are_not_finite_are_refused(method):
    network = drawn_network("gpt2")
    with torch.no_grad():
        network.transformer.wte.weight[5] = float("nan")
    rows, owners = drawn_rows(3, 2, 0)
    with pytest.raises(LeakscopeError, match="not finite"):
        ModuleClipper(network, 1.0, method=method).write(rows, owners, 3)


def test_dropout_is_refused():
    rows, owners = drawn_rows(3, 2, 0)
    with pytest.raises(LeakscopeError, match="eval"):
        ModuleClipper(drawn_network("gpt2").train(), 1.0).write(rows, owners, 3)


class Small(nn.Module):
    """Two layers, and what makes each case special."""

    def __init__(self, case):
        super().__init__()
        self.case = case
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 1)
        self.extra = nn.PReLU() if case == "kind" else nn.Identity()
        self.double()
        with torch.no_grad():
            for weight in self.parameters():
                weight.copy_(torch.linspace(-1, 1.3, weight.numel()).view(weight.shape))

    def forward(self, x):
        if self.case == "behind":
            x = x @ self.first.weight  # without a call of the layer
        elif self.case == "rows":
            x = self.first(x.flatten(0, 1)).view(x.shape)
        elif self.case == "changed":
            y = self.first(x)
            x.mul_(2)
            x = y + x.detach() * 0
        elif self.case == "later":
            x = self.first(x).relu_()
        elif self.case == "twice":
            x = self.first(self.first(x).tanh())
        elif self.case == "named":
            x = self.first(input=x)
        elif self.case == "checkpointed":  # called once more while errors are computed
            x = checkpoint(self.first, x, use_reentrant=False)
        elif self.case == "without":
            with torch.no_grad():
                x = self.first(x)
        return self.last(self.extra(x).tanh()).sum((1, 2))


@pytest.mark.parametrize(
    "case", ["kind", "behind", "rows", "later", "twice", "named", "checkpointed", "without"]
)
def test_other_layers_are_never_got_wrong(case):
    network = Small(case).eval()
    generator = np.random.default_rng(0)
    x, owners = torch.from_numpy(generator.normal(size=(6, 3, 4))), np.array([0, 1, 1, 2, 2, 2])
    weights = list(network.parameters())
    losses = [network(x[owners == user]).sum() for user in range(3)]
    known = case in ("twice", "named", "checkpointed")
    expected, norms = clipped_sum(losses, weights, 1.0)
    clipper = ModuleClipper(network, 1.0, lambda network, x: network(x))
    found = clipper.write(x, owners, 3)
    assert clipper.method == ("ghost" if known else "microbatch")
    assert_same([weight.grad for weight in weights], expected)
    assert found.norms.numpy() == pytest.approx(norms, rel=1e-10)
    if clipper.method == "microbatch":
        with pytest.raises(LeakscopeError, match="microbatch"):
            ModuleClipper(network, 1.0, lambda network, x: network(x), method="ghost").write(
                x, owners, 3
            )


def test_an_input_that_was_changed_is_noticed():
    x = torch.ones(2, 3, 4, dtype=torch.float64)
    clipper = ModuleClipper(
        Small("changed").eval(), 1.0, lambda network, x: network(x), method="ghost"
    )
    with pytest.raises(LeakscopeError, match="changed"):
        clipper.write(x, np.array([0, 1]), 2)


def test_the_loss_of_a_text_is_that_of_its_own_tokens():
    network = drawn_network("gpt2")
    rows, _ = drawn_rows(5, 1, 0)
    expected = list(plain_losses(network, rows, np.arange(5), 5, torch.ones(5)))
    assert torch.allclose(next_token_loss(network, rows), torch.stack(expected), rtol=1e-12)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("memory", [0, 3 * 4 * 9 * 1024, 2**29])
def test_losses_are_those_of_each_user(memory, backwards):
    network = drawn_network("gpt2")
    rows, owners = drawn_rows(5, 4, 0)
    expected = [loss.item() for loss in plain_losses(network, rows, owners, 5, torch.ones(5))]
    clipper = ModuleClipper(network, 1.0, memory=memory)
    found = clipper.losses(rows, owners, 5, backwards=backwards)
    assert found.numpy() == pytest.approx(expected, rel=1e-10)
