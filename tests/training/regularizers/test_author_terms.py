"""The privacy losses against numbers made by hand, and where their gradients go."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.records.errors import LeakscopeError
from leakscope.training.regularizers.adversarial_settings import AdversarialSettings
from leakscope.training.regularizers.adversarial_term import (
    AdversarialTerm,
    Discriminator,
    divergence,
    judged,
)
from leakscope.training.regularizers.privacy_weight import weight_at
from leakscope.training.regularizers.triplet_settings import TripletSettings
from leakscope.training.regularizers.triplet_term import NEAR, TripletTerm, pair_distances
from leakscope.training.regularizers.whitening import Whitening, standardized


def test_the_divergence_by_hand():
    """Softmax (1/2, 1/4, 1/4): Eq. 2 is (log 2 + 2 log 4) / 3 = 5/3 log 2."""
    logits = torch.tensor([[math.log(2), 0.0, 0.0]], dtype=torch.float64)
    assert float(divergence(logits)) == pytest.approx(5 / 3 * math.log(2) - math.log(3), abs=1e-12)
    both = torch.cat([logits, torch.full((1, 3), 7.0, dtype=torch.float64)])
    assert float(divergence(both)) == pytest.approx(float(divergence(logits)) / 2, abs=1e-12)
    p = logits.softmax(1)
    plain = (1 / 3 * (1 / 3 / p).log()).sum()
    assert float(divergence(logits)) == pytest.approx(float(plain), abs=1e-12)


def by_hand(width=2):
    """A term whose discriminator has weights that a hand can follow."""
    settings = AdversarialSettings(discriminator_width=2, discriminator_input="states")
    term = AdversarialTerm(settings, width, authors=2)
    with torch.no_grad():
        term.discriminator.first.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
        term.discriminator.first.bias.zero_()
        term.discriminator.last.weight.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
        term.discriminator.last.bias.zero_()
    return term


def test_the_discriminators_losses_by_hand():
    """The state (1, -5) gives the logits (1, -1), so p = (1, e^-2) / (1 + e^-2)."""
    term = by_hand()
    states = torch.tensor([[1.0, -5.0]], requires_grad=True)
    loss = term.loss(states, torch.tensor([0]))
    p = 1 / (1 + math.exp(-2))
    assert loss.item() == pytest.approx(
        -(math.log(p) + math.log(1 - p)) / 2 - math.log(2), abs=1e-6
    )
    figures = term.figures()
    assert figures["discriminator_loss"] == pytest.approx(-math.log(p), abs=1e-6)
    assert figures["discriminator_accuracy"] == 1.0
    loss.backward()
    # d divergence / d logits = p - 1/2; the first unit is on, the second one off.
    assert torch.allclose(states.grad, torch.tensor([[2 * (p - 0.5), 0.0]]))


@pytest.mark.parametrize("seen", ["states", "whitened"])
def test_the_models_step_does_not_train_the_discriminator_nor_the_other_way_round(seen):
    torch.manual_seed(0)
    settings = AdversarialSettings(
        discriminator_width=16, discriminator_input=seen, discriminator_learning_rate=1e-3
    )
    term = AdversarialTerm(settings, 4, authors=3)
    model = torch.nn.Linear(5, 4)
    given_, authors = torch.randn(6, 5), torch.tensor([0, 1, 2, 0, 1, 2])
    twin = AdversarialTerm(settings, 4, authors=3)

    def shown(states):
        return states if seen == "states" else standardized(Whitening()(states))

    loss = 3.0 * term.loss(model(given_), authors)
    assert all(weight.grad is None for weight in model.parameters()), "it learned by itself"
    learned = [weight.clone() for weight in term.discriminator.parameters()]
    loss.backward()
    assert all(
        torch.equal(a, b) for a, b in zip(learned, term.discriminator.parameters(), strict=True)
    )
    # The model's gradient is that of the divergence alone, at the weights before the step.
    plain = torch.nn.Linear(5, 4)
    plain.load_state_dict(model.state_dict())
    (3.0 * divergence(twin.discriminator(shown(plain(given_))))).backward()
    for mine, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        assert torch.allclose(mine.grad, theirs.grad, atol=1e-7)
    # The discriminator's step is that of the cross-entropy alone.
    optimizer = torch.optim.Adam(twin.discriminator.parameters(), lr=1e-3)
    optimizer.zero_grad()
    logits = twin.discriminator(shown(model(given_)).detach())
    torch.nn.functional.cross_entropy(logits, authors).backward()
    optimizer.step()
    for mine, theirs in zip(learned, twin.discriminator.parameters(), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-6)


def test_the_triplet_loss_by_hand():
    """Authors 0, 0, 1: one pair of the same author at distance 4 and two of others, at 9 and 1."""
    states = torch.tensor([[0.0, 0.0], [2.0, 0.0], [3.0, 0.0]], requires_grad=True)
    term = TripletTerm(TripletSettings(distance="states"))
    loss = term.loss(states, torch.tensor([0, 0, 1]))
    assert loss.item() == pytest.approx(((9 + 1) / 2 - 4) / 2, abs=1e-6), "per unit of width"
    loss.backward()
    # A step down brings the texts of two authors closer, and takes those of one apart.
    moved = (states - 0.01 * states.grad).detach()
    same, other = pair_distances(moved, torch.tensor([0, 0, 1]), squared=True)
    assert same.item() > 4 and other.item() < 5
    figures = term.figures()
    assert figures["same_author_distance"] == pytest.approx(2.0)
    assert figures["other_author_distance"] == pytest.approx(2.5)


@settings(max_examples=40)
@given(
    n=st.integers(2, 9), users=st.integers(1, 4), seed=st.integers(0, 999), squared=st.booleans()
)
def test_distances_over_all_pairs(n, users, seed, squared):
    rng = np.random.default_rng(seed)
    states, authors = rng.normal(size=(n, 3)), rng.integers(0, users, n)
    found = pair_distances(torch.from_numpy(states), torch.from_numpy(authors), squared=squared)
    pairs = {True: [], False: []}
    for i in range(n):
        for j in range(n):
            if i != j:
                distance = float(((states[i] - states[j]) ** 2).sum())
                distance = distance if squared else math.sqrt(distance + NEAR)
                pairs[bool(authors[i] == authors[j])].append(distance)
    for mine, plain in ((found.same, pairs[True]), (found.other, pairs[False])):
        assert (mine is None) == (not plain)
        assert mine is None or float(mine) == pytest.approx(np.mean(plain))


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_directions_are_bounded_whatever_the_model(scale):
    states = (scale * torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])).requires_grad_()
    term = TripletTerm(TripletSettings(distance="directions"))
    loss = term.loss(states, torch.tensor([0, 0, 1]))
    assert loss.item() == pytest.approx(2 - 4), "between -4 and 4"


def test_whitened_distances_see_the_spread_and_no_scale():
    """Two authors with the same mean: one of them close to it, the other far away on two sides."""
    states = torch.tensor([[0.1], [-0.1], [3.0], [-3.0]])
    authors = torch.tensor([0, 0, 1, 1])
    settings = TripletSettings()
    loss = TripletTerm(settings).loss(states, authors).item()
    # The variance is (0.01 + 9) / 2; pairs of one author are 0.2 and 6 apart, of two 2.9 and 3.1.
    unit = math.sqrt(1.001 * (0.01 + 9) / 2)
    assert loss == pytest.approx((3.0 - (0.2 + 6) / 2) / unit, abs=1e-3)
    assert TripletTerm(settings).loss(1e-3 * states, authors).item() == pytest.approx(loss, 1e-3)


def test_a_batch_without_both_kinds_of_pairs_adds_nothing():
    term = TripletTerm(TripletSettings())
    for authors in ([0, 0, 0], [0, 1, 2]):
        states = torch.randn(3, 4, requires_grad=True)
        loss = term.loss(states, torch.tensor(authors))
        loss.backward()
        assert loss.item() == 0 and not states.grad.any()
    assert term.figures()["batches_without_pairs"] == 1.0
    assert term.figures()["privacy_loss"] is None


def test_the_weight_grows_linearly_and_stays():
    assert [weight_at(e, 2.0, 4.0) for e in (0, 1, 3, 4, 9)] == [0, 0.5, 1.5, 2, 2]
    assert weight_at(0.01, 2.0, 0.0) == 2.0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: AdversarialSettings(privacy_weight=-1), "not negative"),
        (lambda: AdversarialSettings(privacy_weight=math.inf), "finite"),
        (lambda: AdversarialSettings(privacy_warmup=-1), "not negative"),
        (lambda: AdversarialSettings(users_per_batch=0), "at least 1"),
        (lambda: AdversarialSettings(discriminator_width=0), "wide"),
        (lambda: AdversarialSettings(discriminator_learning_rate=0), "positive"),
        (lambda: AdversarialSettings(discriminator_input="all"), "whitened, states"),
        (
            lambda: AdversarialSettings(users_per_batch=1, discriminator_input="whitened"),
            "--discriminator-input states",
        ),
        (lambda: TripletSettings(users_per_batch=1), "no pairs of two authors"),
        (lambda: TripletSettings(distance="euclid"), "whitened, states, directions"),
    ],
)
def test_wrong_settings_are_refused(make, says):
    with pytest.raises(LeakscopeError, match=says):
        make()


@pytest.mark.parametrize(("texts", "width", "hidden", "authors"), [(7, 5, 9, 4), (1, 3, 2, 2)])
def test_gradients_that_are_written_down_are_those_that_autograd_finds(
    texts, width, hidden, authors
):
    network = Discriminator(width, hidden, authors, seed=3).double()
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(texts, width, generator=generator, dtype=torch.float64)
    labels = torch.randint(authors, (texts,), generator=generator)
    found = judged(network, states, labels)
    seen = states.clone().requires_grad_()
    logits = network(seen)
    privacy, mistaken = divergence(logits), torch.nn.functional.cross_entropy(logits, labels)
    (to_states,) = torch.autograd.grad(privacy, seen, retain_graph=True)
    to_weights = torch.autograd.grad(mistaken, list(network.parameters()))
    assert torch.equal(found.logits, logits) and not found.to_states.requires_grad
    torch.testing.assert_close(found.privacy, privacy)
    torch.testing.assert_close(found.mistaken, mistaken)
    torch.testing.assert_close(found.to_states, to_states)
    assert len(found.to_weights) == len(to_weights)
    for mine, theirs in zip(found.to_weights, to_weights, strict=True):
        torch.testing.assert_close(mine, theirs)
