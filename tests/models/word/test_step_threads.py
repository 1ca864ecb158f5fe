"""Small recurrent steps are taken by one thread, and give the states that they gave."""

import pytest
import torch

from leakscope.models.word.architecture import Architecture
from leakscope.models.word.gru_reader import TIME_CHUNK
from leakscope.models.word.networks import make_network
from leakscope.models.word.step_threads import SMALL, threads_for


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("rows", "width", "threads"), [(1, 256, 1), (16, 64, 1), (2, 256, 2)])
def test_only_small_steps_are_for_one_thread(two_threads, rows, width, threads):
    assert (rows * width**2 <= SMALL) == (threads == 1)
    with threads_for(rows, width):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 2
    with pytest.raises(KeyError), threads_for(rows, width):
        raise KeyError
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_states_are_those_of_one_pass(two_threads, kind):
    shape = Architecture(kind=kind, embedding=6, hidden=8, layers=1)
    network = make_network(shape, 20, torch.Generator().manual_seed(0)).eval()
    tokens = torch.randint(20, (1, 2 * TIME_CHUNK + 7))
    with torch.inference_mode():
        whole = network.hidden(tokens)
        pieces = torch.cat(list(network.chunks(tokens)), 1)
        last, _ = network.read(tokens)
    assert torch.allclose(whole, pieces, atol=1e-6) and torch.allclose(
        whole[:, -1], last, atol=1e-6
    )
    assert torch.get_num_threads() == 2
