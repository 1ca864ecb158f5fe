"""Noise has the deviation that was asked for, is never the same twice, and cannot be predicted."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from scipy import stats

from leakscope.records.errors import LeakscopeError
from leakscope.training.dp.noise.noise_source import (
    CHUNK,
    InsecureNoise,
    SystemNoise,
    noise_source,
)

SOURCES = [SystemNoise(), InsecureNoise(7)]
DRAWS = 1_000_000


def drawn(source, count=DRAWS, deviation=1.0, step=0, dtype=torch.float64):
    tensor = torch.zeros(count, dtype=dtype)
    source.add_([tensor], deviation, step)
    return tensor


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_moments_over_a_million_draws(source, dtype):
    noise = drawn(source, deviation=0.37, dtype=dtype).double().numpy()
    assert noise.std() == pytest.approx(0.37, rel=0.005)
    assert abs(noise.mean()) < 5 * 0.37 / math.sqrt(DRAWS)
    assert abs(stats.kurtosis(noise)) < 5 * math.sqrt(24 / DRAWS)
    assert abs(stats.skew(noise)) < 5 * math.sqrt(6 / DRAWS)
    # About 2.7 in 1000 are beyond three deviations, and 63 in a million beyond four.
    assert np.mean(np.abs(noise) > 3 * 0.37) == pytest.approx(0.0027, rel=0.1)
    assert 20 < np.sum(np.abs(noise) > 4 * 0.37) < 120


@pytest.mark.parametrize("source", SOURCES)
def test_the_whole_distribution_is_normal(source):
    assert stats.kstest(drawn(source, 200_000).numpy(), "norm").pvalue > 1e-6


@pytest.mark.parametrize("source", SOURCES)
def test_steps_parameters_and_values_are_independent(source):
    count = 200_000
    first, second = torch.zeros(count), torch.zeros(count // 4, 4)
    source.add_([first, second], 1.0, 0)
    later = drawn(source, count, step=1, dtype=torch.float32)
    bound = 5 / math.sqrt(count)
    for one, other in [
        (first, second.view(-1)),
        (first, later),
        (first[1:], first[:-1]),
        (first[: count // 2], first[count // 2 :]),
    ]:
        assert abs(float(torch.corrcoef(torch.stack([one, other]))[0, 1])) < 1.5 * bound
        assert not torch.equal(one, other)


def test_the_systems_noise_is_never_the_same_twice():
    source = SystemNoise()
    seen = np.concatenate([drawn(source, 1000, step=3).numpy() for _ in range(50)])
    assert len(np.unique(seen)) == len(seen)


def test_the_systems_noise_does_not_depend_on_any_seed():
    torch.manual_seed(0)
    np.random.seed(0)
    one = drawn(SystemNoise(), 100)
    torch.manual_seed(0)
    np.random.seed(0)
    assert not torch.equal(one, drawn(SystemNoise(), 100))


FORKED = """
import os, sys
from leakscope.training.dp.noise.noise_source import system_words
system_words(2)
if os.fork() == 0:
    print(int(system_words(1)[0]), flush=True)
    os._exit(0)
os.wait()
print(int(system_words(1)[0]), flush=True)
"""


def test_a_forked_process_has_noise_of_its_own():
    run = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True)
    child, parent = run.stdout.split()
    assert child != parent


def test_a_seed_and_a_step_give_the_same_noise_again():
    assert torch.equal(drawn(InsecureNoise(1), step=5), drawn(InsecureNoise(1), step=5))
    assert not torch.equal(drawn(InsecureNoise(1), step=5), drawn(InsecureNoise(2), step=5))
    assert not torch.equal(drawn(InsecureNoise(1), step=5), drawn(InsecureNoise(1), step=6))


def test_noise_is_added_to_what_is_there_and_of_any_shape():
    tensors = [torch.full((3, 5, 2), 100.0), torch.full((), 100.0), torch.empty(0)]
    SystemNoise().add_(tensors, 1e-3, 0)
    assert float((tensors[0] - 100).abs().max()) < 0.1
    assert float(tensors[0].std()) > 0
    assert float(tensors[1]) != 100


def test_more_values_than_a_chunk_are_all_noisy():
    noise = drawn(SystemNoise(), CHUNK + 3)
    assert bool((noise != 0).all())
    assert len(torch.unique(noise)) == CHUNK + 3


@pytest.mark.parametrize("source", SOURCES)
def test_memory_of_any_order_gets_noise(source):
    across = torch.zeros(300, 400).T
    source.add_([across], 1.0, 0)
    assert float(across.std()) == pytest.approx(1, rel=0.02)
    assert len(torch.unique(across)) > 100_000


def test_only_a_seed_is_insecure():
    assert not noise_source(None).insecure
    assert noise_source(0).insecure


@pytest.mark.parametrize("deviation", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("source", SOURCES)
def test_no_noise_is_refused(source, deviation):
    with pytest.raises(LeakscopeError):
        source.add_([torch.zeros(1)], deviation, 0)
