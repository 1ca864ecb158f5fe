"""What several processes do of a step adds up to what one does. Here one process does all shares in
turn; `test_crew` has real ones.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from leakscope.models.word.networks import DropoutRows, dropout, make_network
from leakscope.training.distributed.work_shares import shares_of
from leakscope.training.dp.clipping.clipper import Clipper
from leakscope.training.dp.sampling import Draw
from leakscope.training.steps.batch_share import share_of
from leakscope.training.steps.batches import TrainingText
from leakscope.training.steps.loss import training_loss
from leakscope.training.steps.plain_step import ShareLoss
from private_training import TINY

SIZES = st.lists(st.integers(1, 40), max_size=30).map(lambda sizes: np.array(sizes, np.int64))
LENGTHS = st.lists(st.integers(0, 11), min_size=1, max_size=9)
RANKS = st.integers(1, 5)


@given(sizes=SIZES, ranks=RANKS)
def test_every_part_is_done_once_and_no_rank_has_much_more_than_another(sizes, ranks):
    found = shares_of(sizes, ranks)
    assert len(found) == ranks
    assert sorted(np.concatenate(found).tolist()) == list(range(len(sizes)))
    assert all((np.diff(parts) > 0).all() for parts in found)
    loads = [int(sizes[parts].sum()) for parts in found]
    assert max(loads) - min(loads) <= max(sizes, default=0)


@given(rows=st.lists(st.integers(0, 6), min_size=1, unique=True), short=st.integers(1, 5))
def test_dropout_is_the_same_for_a_row_wherever_it_is_computed(rows, short):
    x = torch.ones(7, 5, 3)
    whole = dropout(x, 0.4, torch.Generator().manual_seed(3))
    part = DropoutRows(torch.Generator().manual_seed(3), torch.tensor(rows), (7, 5))
    assert torch.equal(dropout(x[rows][:, :short], 0.4, part), whole[rows][:, :short])


def text_and_network(lengths, kind, rate):
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    text = TrainingText(rng.integers(0, 9, offsets[-1]), offsets, 10, 12)
    architecture = replace(TINY[kind], dropout=rate)
    return text, make_network(architecture, 11, torch.Generator().manual_seed(1))


def gradients(network):
    return torch.cat([weight.grad.flatten() for weight in network.parameters()])


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
@given(lengths=LENGTHS, ranks=RANKS)
def test_losses_and_gradients_of_shares_add_up_to_those_of_the_batch(kind, lengths, ranks):
    text, network = text_and_network(lengths, kind, 0.3)
    pieces = np.arange(text.steps(1))
    whole = training_loss(network, text.batch(pieces), torch.Generator().manual_seed(5))
    whole.backward()
    expected = gradients(network)
    network.zero_grad()
    total = 0.0
    for rows in shares_of(text.sizes_of(pieces), ranks):
        generator = torch.Generator().manual_seed(5)
        loss = ShareLoss(network)(share_of(text, pieces, rows, generator))
        loss.backward()
        total += float(loss.detach())
    assert total == pytest.approx(float(whole.detach()), rel=1e-5)
    torch.testing.assert_close(gradients(network), expected, rtol=1e-4, atol=1e-6)


@given(lengths=st.lists(LENGTHS, max_size=8), ranks=RANKS)
def test_clipped_sums_of_shares_of_users_add_up_to_that_of_all(lengths, ranks):
    text, network = text_and_network([each for user in lengths for each in user] or [1], "gru", 0.0)
    counts = [len(user) for user in lengths]
    pieces = np.arange(sum(counts))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    draw = Draw(np.arange(len(lengths)), offsets, pieces, text.sizes_of(pieces))
    assert draw.words.tolist() == [sum(user) + len(user) for user in lengths]
    clipper = Clipper(network, 0.3)

    def clipped_sum(some):
        if not len(some):
            return 0.0
        users = np.repeat(np.arange(len(some)), np.diff(some.offsets))
        clipper.write(text.batch(some.pieces, some.sizes), users, len(some))
        return gradients(network).double()

    whole = clipped_sum(draw)
    parts = [draw.take(rows) for rows in shares_of(draw.words, ranks)]
    assert sorted(np.concatenate([part.units for part in parts]).tolist()) == list(draw.units)
    if len(draw):
        apart = (sum(clipped_sum(part) for part in parts) - whole).norm() / whole.norm()
        assert float(apart) < 1e-5
