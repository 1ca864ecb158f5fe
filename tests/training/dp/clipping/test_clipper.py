"""Both ways to the clipped sum against a plain loop over users."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.models.word.architecture import Architecture
from leakscope.models.word.networks import make_network
from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.clipping import output_layer as output
from leakscope.training.dp.clipping import transformer
from leakscope.training.dp.clipping.clipper import Clipper
from leakscope.training.dp.clipping.ghost import groups
from leakscope.training.dp.clipping.norms import grams
from leakscope.training.dp.clipping.text_by_user import by_user
from plain_loop import assert_same, batch_of, between, clipped_sum, user_losses

SHAPES = {
    "lstm": Architecture("lstm", 2, 6, 8),
    "gru": Architecture("gru", 1, 5, 8),
    "gru-2": Architecture("gru", 2, 5, 7),
    "transformer": Architecture("transformer", 2, 8, 8, dropout=0.1, heads=2, context=12),
}
METHODS = ("microbatch", "ghost")
ENTRIES = 13


def drawn_network(kind, seed):
    generator = torch.Generator().manual_seed(seed)
    network = make_network(SHAPES[kind], ENTRIES, generator).double()
    with torch.no_grad():
        for weight in network.parameters():  # norms and biases too: none is one or zero
            weight.add_(torch.randn(weight.shape, generator=generator, dtype=weight.dtype) * 0.4)
    return network


def drawn_texts(users, most, seed, longest=12):
    rng = np.random.default_rng(seed)
    return [
        [
            rng.integers(0, ENTRIES, rng.integers(2, longest + 2)).tolist()
            for _ in range(rng.integers(1, most + 1))
        ]
        for _ in range(users)
    ]


def compare(network, texts, where, method, weighting="mean", seed=0, **options):
    weights = list(network.parameters())
    _, norms = clipped_sum(user_losses(network, texts, weighting), weights, 1.0)
    clip = between(norms, where)
    expected, _ = clipped_sum(user_losses(network, texts, weighting), weights, clip)
    order = np.random.default_rng(seed).permutation(sum(map(len, texts)))
    batch, users = batch_of(texts, order)
    clipper = Clipper(network, clip, method=method, weighting=weighting, **options)
    for _ in range(2):  # the second time in memory that was used before
        found = clipper.write(batch, users, len(texts))
        assert_same([weight.grad for weight in weights], expected)
        assert found.norms.numpy() == pytest.approx(norms, rel=1e-10)
    losses = [float(loss.detach()) for loss in user_losses(network, texts, "sum")]
    assert found.losses.numpy() == pytest.approx(losses, rel=1e-10)
    assert found.words.tolist() == [sum(len(each) - 1 for each in user) for user in texts]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", SHAPES)
@settings(max_examples=25)
@given(
    users=st.integers(1, 6),
    most=st.sampled_from([1, 2, 7]),
    where=st.sampled_from(["below", "amid", "above"]),
    weighting=st.sampled_from(["mean", "sum"]),
    sweeps=st.sampled_from([0, 5, 60, 10**9]),
    rows=st.sampled_from([3, 512]),
    memory=st.sampled_from([0, 20_000, 2**29]),
    narrow=st.sampled_from([0, 1024]),
    kinds=st.sampled_from([grams.KINDS, set()]),
    piece=st.sampled_from([100, grams.PIECE]),
    short=st.sampled_from([0, 5, 64]),
    aligned=st.sampled_from([1, 16]),
    seed=st.integers(0, 10_000),
)
def test_the_sum_is_that_of_a_plain_loop(
    kind, method, users, most, where, weighting, sweeps, rows, memory, narrow, kinds, piece,
    short, aligned, seed
):  # fmt: skip
    # Gram matrices always, never or for some, by the kernel, on one thread or several, or by
    # batches; one group of users or several; layers that are narrow or wide, texts that are short
    # or long, vocabularies that fit or not.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grams, "NARROW", narrow)
        patch.setattr(grams, "KINDS", kinds)
        patch.setattr(grams, "PIECE", piece)
        patch.setattr(transformer, "SHORT", short)
        patch.setattr(output, "ALIGNED", aligned)
        patch.setattr(grams, "SWEEPS", sweeps)
        patch.setattr(output, "ROWS", rows)
        compare(
            drawn_network(kind, seed),
            drawn_texts(users, most, seed),
            where,
            method,
            weighting,
            seed,
            memory=memory,
        )


@pytest.mark.parametrize("sweeps", [0, 10**9])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["lstm", "gru", "transformer"])
def test_a_user_with_a_hundred_documents_beside_one_with_one(kind, method, sweeps, monkeypatch):
    monkeypatch.setattr(grams, "SWEEPS", sweeps)
    hundred = [document for (document,) in drawn_texts(100, 1, 4)]
    texts = [*drawn_texts(2, 1, 3), hundred, *drawn_texts(1, 1, 5)]
    for where in ("below", "amid", "above"):
        compare(drawn_network(kind, 1), texts, where, method)


@pytest.mark.parametrize("words", [1, 15, 40, 10_000])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["lstm", "gru", "transformer"])
def test_few_words_at_a_time_add_up_to_the_same_sum(kind, method, words):
    compare(drawn_network(kind, 2), drawn_texts(9, 3, 6), "amid", method, words=words)


@given(words=st.integers(1, 120), users=st.integers(1, 9), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_parts_have_at_most_so_many_words_or_one_user(words, users, seed):
    network, texts = drawn_network("gru", 0), drawn_texts(users, 3, seed)
    batch, owners = batch_of(texts, range(sum(map(len, texts))))
    whole = by_user(batch, owners, users)
    parts = list(groups(network, whole, 2**29, words))
    assert np.concatenate([part.owners for part in parts]).tolist() == whole.owners.tolist()
    assert all(part.words.sum() <= words or len(part.owners) == 1 for part in parts)
    for one, two in pairwise(parts):  # and no fewer than fit
        assert one.words.sum() + two.words[0] > words


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", SHAPES)
def test_a_gradient_of_zero_stays_zero(kind, method):
    # With one entry alone nothing is left to learn: its probability is 1 whatever the weights.
    network = make_network(SHAPES[kind], 1, torch.Generator().manual_seed(0)).double()
    batch, users = batch_of([[[0, 0, 0]], [[0, 0], [0, 0]]], range(3))
    found = Clipper(network, 1.0, method=method).write(batch, users, 2)
    assert found.norms.tolist() == [0, 0]
    assert all(not weight.grad.any() for weight in network.parameters())


@pytest.mark.parametrize("method", METHODS)
def test_users_without_text_give_nothing(method):
    network, texts = drawn_network("lstm", 0), drawn_texts(3, 2, 0)
    batch, users = batch_of(texts, range(sum(map(len, texts))))
    alone = Clipper(network, 0.1, method=method).write(batch, users, 3)
    sums = [weight.grad.clone() for weight in network.parameters()]
    among = Clipper(network, 0.1, method=method).write(batch, 2 * users + 1, 8)
    assert_same([weight.grad for weight in network.parameters()], sums, 1e-14)
    assert among.norms[1:7:2].tolist() == pytest.approx(alone.norms.tolist())
    assert not among.norms[::2].any() and not among.words[::2].any()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", SHAPES)
def test_no_user_adds_more_than_the_clip(kind, method):
    network, texts = drawn_network(kind, 7).float(), drawn_texts(6, 5, 7)
    for user, documents in enumerate(texts):
        batch, users = batch_of([documents], range(len(documents)))
        Clipper(network, 0.01, method=method).write(batch, users, 1)
        length = torch.cat([weight.grad.flatten().double() for weight in network.parameters()])
        assert 0.01 * (1 - 5e-5) < float(length.norm()) < 0.01 * (1 + 2e-6), user


@pytest.mark.parametrize("sweeps", [0, 10**9])
@pytest.mark.parametrize("method", METHODS)
def test_norms_of_many_float32_keep_their_digits(method, sweeps, monkeypatch):
    # 800,000 weights: summed one by one in float32, norms would be off by 1e-4.
    monkeypatch.setattr(grams, "SWEEPS", sweeps)
    entries = 8000
    network = make_network(
        Architecture("gru", 1, 20, 100), entries, torch.Generator().manual_seed(0)
    )
    texts = [[np.random.default_rng(0).integers(0, entries, 40).tolist() for _ in range(2)]]
    batch, users = batch_of(texts, range(2))
    single = Clipper(network, 1.0, method=method).write(batch, users, 1)
    double = Clipper(network.double(), 1.0, method=method).write(batch, users, 1)
    # Gram matrices are rounded upwards, by more than they are off.
    upward = 1e-3 if method != "microbatch" else 0.0
    ratio = float(single.norms) / float(double.norms)
    assert 1 - 3e-6 < ratio < 1 + 3e-6 + upward


@pytest.mark.parametrize("clip", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("kind", ["gru", "transformer"])
def test_no_user_passes_a_small_clip_where_terms_cancel(kind, clip):
    # One context, continued as the network itself would in the long run: nearly no gradient left.
    network = drawn_network(kind, 0).float()
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if name == "norm.weight":
                weight.fill_(3.0)
        odds = torch.softmax(network.output(network.hidden(torch.tensor([[1]])))[0, 0], 0)
    labels = np.repeat(np.arange(len(odds)), np.round(300 * odds.numpy()).astype(int))
    texts = [[[1, int(label)] for label in labels]]
    batch, users = batch_of(texts, range(len(labels)))
    Clipper(network, clip, method="ghost").write(batch, users, 1)
    total = torch.cat([weight.grad.double().flatten() for weight in network.parameters()])
    assert float(total.norm()) <= clip * (1 + 1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_the_loss_of_what_seems_impossible_is_right(method):
    network = drawn_network("lstm", 0).float()
    with torch.no_grad():
        network.output.bias[3] = -500.0  # its probability is 0 in float32
    batch, users = batch_of([[[1, 2, 3, 4]], [[2, 3]]], range(2))
    found = Clipper(network, 1.0, method=method).write(batch, users, 2)
    losses = user_losses(network, [[[1, 2, 3, 4]], [[2, 3]]], "sum")
    expected = [float(loss.detach()) for loss in losses]
    assert found.losses.tolist() == pytest.approx(expected, rel=1e-5) and expected[1] > 400


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(method, bad):
    network, texts = drawn_network("gru", 0), drawn_texts(3, 2, 0)
    with torch.no_grad():
        network.embedding.weight[texts[1][0][0]] = bad
    batch, users = batch_of(texts, range(sum(map(len, texts))))
    with pytest.raises(LeakscopeError, match="not finite"):
        Clipper(network, 1.0, method=method).write(batch, users, 3)


def test_a_user_beyond_any_number_contributes_nothing():
    network, texts = drawn_network("gru", 0).float(), drawn_texts(3, 2, 0)
    texts = [[[entry % 5 for entry in document] for document in own] for own in texts]
    huge = 5  # a word of user 1 alone
    texts[1][0][0] = huge
    with torch.no_grad():
        network.embedding.weight[huge] = 1e30
    clipper = Clipper(network, 1.0, method="ghost")
    batch, users = batch_of(texts, range(sum(map(len, texts))))
    found = clipper.write(batch, users, 3)
    sums = [weight.grad.clone() for weight in network.parameters()]
    assert torch.isinf(found.norms).tolist() == [False, True, False]
    batch, users = batch_of([texts[0], texts[2]], range(len(texts[0]) + len(texts[2])))
    clipper.write(batch, users, 2)
    assert_same([weight.grad for weight in network.parameters()], sums, 1e-5)


def test_a_text_of_nobody_gives_zero():
    network = drawn_network("lstm", 0)
    batch, users = batch_of(drawn_texts(1, 1, 0), range(1))
    empty = type(batch)(batch.inputs[:0], batch.places[:0], batch.labels[:0])
    found = Clipper(network, 1.0).write(empty, users[:0], 4)
    assert found.norms.tolist() == [0] * 4
    assert all(not weight.grad.any() for weight in network.parameters())


@pytest.mark.parametrize(
    "options", [{"clip": 0.0}, {"clip": float("nan")}, {"clip": 1.0, "method": "fast"}]
)
def test_wrong_settings_are_refused(options):
    with pytest.raises(LeakscopeError):
        Clipper(drawn_network("lstm", 0), **options)


def test_every_piece_needs_a_user():
    network = drawn_network("lstm", 0)
    batch, users = batch_of(drawn_texts(3, 1, 0), range(3))
    for wrong, count in ((users[:2], 3), (users, 2), (users - 1, 3)):
        with pytest.raises(LeakscopeError):
            Clipper(network, 1.0).write(batch, wrong, count)
