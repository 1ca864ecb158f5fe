"""Ways of computing that PyTorch offers: steps are those of a plain loop, or a sentence says why
they cannot be, before anything is spent.
"""

import copy

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from leakscope.records.errors import LeakscopeError
from leakscope.training import LoopOptions, PrivacySettings, make_private
from plain_steps import drawn_network, drawn_users, plain_steps, text_loss

USERS = 8
SEED = 5


@pytest.fixture(autouse=True)
def without_onednn(monkeypatch):
    """Its kernels for half precision need AMX, which virtual machines may announce but not have."""
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)


class Scorer(nn.Module):
    """Two layers, called in one way or another."""

    def __init__(self, way="plain", kind=torch.float64):
        super().__init__()
        torch.manual_seed(0)
        self.way, self.first, self.last = way, nn.Linear(4, 6), nn.Linear(6, 1)
        self.to(kind)

    def forward(self, x):
        if self.way == "keyword":
            return self.last(input=self.first(input=x).tanh())
        if self.way in ("reentrant", "checkpointed"):
            x = x.clone().requires_grad_()
            inner = checkpoint(self._inner, x, use_reentrant=self.way == "reentrant")
            return self.last(inner)
        if self.way == "autocast":
            with torch.autocast("cpu", torch.bfloat16):
                return self.last(self._inner(x)).float()
        if self.way == "no_grad":
            with torch.no_grad():
                return self.last(self._inner(x))
        return self.last(self._inner(x))

    def _inner(self, x):
        return self.first(x).tanh()


def scored(network, rows):
    return network(rows)[:, 0].square()


def examples(kind=torch.float64):
    generator = torch.Generator().manual_seed(1)
    return [
        [
            torch.randn(4, generator=generator, dtype=torch.float64).to(kind)
            for _ in range(user % 3 + 1)
        ]
        for user in range(USERS)
    ]


def loop(network, out, kind=torch.float64, method="auto", loss_of=scored):
    settings = PrivacySettings(
        rate=0.9, noise_multiplier=0.5, clip=0.3, insecure_seed=SEED, method=method
    )
    return make_private(
        network,
        torch.optim.SGD(network.parameters(), lr=0.1),
        examples(kind),
        settings,
        steps=3,
        out=out,
        options=LoopOptions(loss_of=loss_of, collate=torch.stack),
    )


@pytest.mark.parametrize("method", ["ghost", "microbatch"])
@pytest.mark.parametrize("way", ["plain", "keyword", "checkpointed"])
def test_steps_are_those_of_a_plain_loop(way, method, tmp_path):
    network, plain, data = Scorer(way), Scorer(), examples()
    private = loop(network, tmp_path, method=method)
    with torch.no_grad():  # around the loop, it does no harm
        assert len(list(private)) == 3
    assert private._mechanism.clipper.method == method
    plain_steps(
        plain, torch.optim.SGD(plain.parameters(), lr=0.1),
        lambda user: scored(plain, torch.stack(data[user])).mean(), USERS, private.plan, SEED,
        range(3),
    )  # fmt: skip
    for mine, other in zip(network.parameters(), plain.parameters(), strict=True):
        assert torch.allclose(mine, other, rtol=1e-10, atol=1e-12)


def test_checkpointing_of_transformers_is_that_of_a_plain_loop(tmp_path):
    """It is off outside of train mode; with or without, the steps are the same."""
    network = drawn_network("gpt2")
    network.gradient_checkpointing_enable({"use_reentrant": False})
    plain, data = copy.deepcopy(network).eval(), drawn_users(USERS)
    settings = PrivacySettings(rate=0.9, noise_multiplier=0.5, clip=0.3, insecure_seed=SEED)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    private = make_private(network, optimizer, data, settings, steps=2, out=tmp_path)
    for _ in private:
        network.train()
    plain_steps(
        plain, torch.optim.SGD(plain.parameters(), lr=0.1),
        lambda user: text_loss(plain, data[user]), USERS, private.plan, SEED, range(2),
    )  # fmt: skip
    for mine, other in zip(network.parameters(), plain.parameters(), strict=True):
        assert torch.allclose(mine, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("method", ["auto", "microbatch"])
@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("reentrant", "use_reentrant=False"),
        ("autocast", "without autocast"),
        ("no_grad", "have no gradients"),
    ],
)
def test_what_cannot_be_clipped_gets_a_sentence(way, said, method, tmp_path):
    network = Scorer(way, torch.float32)
    private = loop(network, tmp_path, torch.float32, method)
    with pytest.raises(LeakscopeError, match=said):
        private.take()
    assert private.record().steps == 0
    assert all(weight.grad is None for weight in network.parameters())


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_autocast_around_the_loop_gets_a_sentence(kind, tmp_path):
    private = loop(Scorer(kind=torch.float32), tmp_path / "one", torch.float32)
    with torch.autocast("cpu", kind), pytest.raises(LeakscopeError, match="without autocast"):
        private.take()
    assert private.record().steps == 0
    with torch.autocast("cpu", kind), pytest.raises(LeakscopeError, match="without autocast"):
        loop(Scorer(), tmp_path / "two")
    assert not (tmp_path / "two").exists()
    assert private.take().step == 1


def test_inference_mode_gets_a_sentence(tmp_path):
    private = loop(Scorer(), tmp_path / "one")
    with torch.inference_mode(), pytest.raises(LeakscopeError, match="outside of"):
        private.take()
    assert private.record().steps == 0
    with torch.inference_mode():
        network = Scorer()
        with pytest.raises(LeakscopeError, match="inference_mode"):
            loop(Scorer(), tmp_path / "two")
    with pytest.raises(LeakscopeError, match="cannot be trained"):
        loop(network, tmp_path / "two")
    assert not (tmp_path / "two").exists()
    assert private.take().step == 1


def test_a_compiled_network_gets_a_sentence(tmp_path):
    inside, network = Scorer(), Scorer()
    inside.first.compile(backend="eager")
    for each in (torch.compile(network, backend="eager"), inside):
        with pytest.raises(LeakscopeError, match=r"without torch\.compile"):
            loop(each, tmp_path)
    assert not list(tmp_path.iterdir())


def test_evaluation_in_inference_mode_between_steps_is_welcome(tmp_path):
    network = drawn_network("gpt2")
    settings = PrivacySettings(rate=0.9, noise_multiplier=0.5)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in make_private(network, optimizer, drawn_users(USERS), settings, steps=2, out=tmp_path):
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
            network(input_ids=torch.tensor([[1, 2, 3]]))
