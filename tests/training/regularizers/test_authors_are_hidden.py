"""Whether the terms do what they are for: an encoder that keeps its content and hides authors."""

import pytest
import torch

from leakscope.training.regularizers.adversarial_settings import AdversarialSettings
from leakscope.training.regularizers.adversarial_term import AdversarialTerm, Discriminator
from leakscope.training.regularizers.triplet_settings import TripletSettings
from leakscope.training.regularizers.triplet_term import TripletTerm

AUTHORS, CONTENT, WIDTH = 8, 6, 12


def drawn(count, seed):
    """Inputs that hold content and, apart from it, who wrote them."""
    generator = torch.Generator().manual_seed(seed)
    marks = torch.randn(AUTHORS, CONTENT, generator=torch.Generator().manual_seed(99))
    authors = torch.randint(0, AUTHORS, (count,), generator=generator)
    content = torch.randn(count, CONTENT, generator=generator)
    noise = 0.3 * torch.randn(count, CONTENT, generator=generator)
    return torch.cat([content, marks[authors] + noise], 1), content, authors


def encoder(term, steps=600):
    torch.manual_seed(0)
    encode, decode = torch.nn.Linear(2 * CONTENT, WIDTH), torch.nn.Linear(WIDTH, CONTENT)
    optimizer = torch.optim.Adam([*encode.parameters(), *decode.parameters()], lr=3e-3)
    for step in range(steps):
        given, content, authors = drawn(32, step)
        states = torch.tanh(encode(given))
        loss = (decode(states) - content).square().mean()
        if term is not None:
            loss = loss + term.loss(states, authors)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    given, content, _ = drawn(1000, 10_001)
    with torch.no_grad():
        error = (decode(torch.tanh(encode(given))) - content).square().mean().item()
    return encode, error


def probed(encode):
    """How often a fresh network names the author of what it has not seen."""
    probe = Discriminator(WIDTH, 64, AUTHORS, seed=5)
    optimizer = torch.optim.Adam(probe.parameters(), lr=3e-3)
    for step in range(300):
        given, _, authors = drawn(64, 20_000 + step)
        with torch.no_grad():
            states = torch.tanh(encode(given))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(probe(states), authors).backward()
        optimizer.step()
    given, _, authors = drawn(2000, 50_000)
    with torch.no_grad():
        return (probe(torch.tanh(encode(given))).argmax(1) == authors).float().mean().item()


@pytest.mark.parametrize(
    "term",
    [
        AdversarialTerm(
            AdversarialSettings(discriminator_width=64),
            WIDTH,
            AUTHORS,
        ),
        AdversarialTerm(
            AdversarialSettings(discriminator_width=64, discriminator_input="states"),
            WIDTH,
            AUTHORS,
        ),
        TripletTerm(TripletSettings()),
        TripletTerm(TripletSettings(distance="states")),
        TripletTerm(TripletSettings(distance="directions")),
    ],
    ids=["adversarial", "adversarial-states", "triplet", "triplet-states", "triplet-directions"],
)
def test_a_fresh_probe_finds_far_less_and_the_content_stays(term):
    plain, usual = encoder(None)
    hidden, error = encoder(term)
    before, after = probed(plain), probed(hidden)
    assert before > 0.45, before
    assert after < 0.6 * before, (before, after)
    assert error < 0.3, (usual, error)
