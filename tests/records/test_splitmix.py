import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leakscope.records.splitmix import finalize, scrambled

MASK = (1 << 64) - 1


def plainly(value: int) -> int:
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


@given(st.lists(st.integers(0, MASK), max_size=20))
def test_it_equals_arithmetic_in_whole_numbers(values):
    given_values = np.array(values, np.uint64)
    assert finalize(given_values).tolist() == [plainly(value) for value in values]
    moved = [plainly((value + 0x9E3779B97F4A7C15) & MASK) for value in values]
    assert scrambled(given_values).tolist() == moved


def test_the_first_outputs_from_state_zero_are_the_published_ones():
    states = [n * 0x9E3779B97F4A7C15 & MASK for n in range(3)]
    found = scrambled(np.array(states, np.uint64))
    assert found.tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
