"""Prefixes that are carried on against prefixes that are read again."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from leakscope.models.carried_prefixes import Choices, read_prefixes
from leakscope.models.word.carried_words import WordCarrier
from leakscope.records.errors import LeakscopeError
from scripted import RereadPrefixes
from small_models import SMALL, sharp_model

VOCABULARY = [f"w{number}" for number in range(9)]
prefixes = st.lists(st.lists(st.sampled_from([*VOCABULARY, "w9"]), max_size=15), max_size=5)


@pytest.mark.parametrize("kind", SMALL)
@settings(max_examples=25)
@given(started=prefixes, data=st.data(), batch=st.sampled_from([1, 7, 10_000]))
def test_any_way_to_go_on_equals_reading_again(kind, started, data, batch):
    model = replace(sharp_model(kind, VOCABULARY, 1), batch_words=batch)
    carried = model.begin(started)
    plain = RereadPrefixes(model, [tuple(prefix) for prefix in started])
    for _ in range(data.draw(st.integers(0, 8))):
        if not len(plain):
            break
        size = data.draw(st.integers(0, 6))
        draw = st.lists(st.integers(0, len(plain) - 1), min_size=size, max_size=size)
        rows = np.array(data.draw(draw), np.int64)
        entry = st.lists(st.integers(0, 9), min_size=size, max_size=size)
        entries = np.array(data.draw(entry), np.int64)
        carried, plain = carried.extended(rows, entries), plain.extended(rows, entries)
    np.testing.assert_allclose(carried.log_probs(), plain.log_probs(), atol=1e-4)
    rows, entries = np.repeat(np.arange(len(plain)), 2), np.arange(2 * len(plain)) % 11
    few = carried.log_probs_at(rows[1:], entries[1:])
    np.testing.assert_allclose(few, plain.log_probs()[rows[1:], entries[1:]], atol=1e-4)
    found, expected = carried.top(4), plain.top(4)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-4)


@pytest.mark.parametrize("kind", SMALL)
def test_a_prefix_is_read_once_and_its_window_again(kind):
    model = sharp_model(kind, VOCABULARY)
    counted = Counted(model.network, 10_000)
    choices = Choices([*VOCABULARY, "<unk>", "<doc>"], 9, 10)
    after = read_prefixes(counted, choices, [[10, 1, 2], [10, 3, 4]])
    for _ in range(12):
        after = after.extended(np.array([0, 1, 1]), np.array([1, 2, 3]))
    # The Transformer sees 6 inputs, and forgets 3 at the 4th, 7th and 10th step.
    moved = 3 if kind == "transformer" else 0
    assert counted.asked == {"read": 1 + moved, "step": 12 - moved}


@dataclass(frozen=True)
class Counted(WordCarrier):
    """Counts what is asked of the network; has memory for a few inputs only, if told so."""

    most: int | None = None

    def __post_init__(self):
        object.__setattr__(self, "asked", {"read": 0, "step": 0})

    def read(self, inputs):
        if self.most is not None and inputs.numel() > self.most:
            raise torch.OutOfMemoryError
        self.asked["read"] += 1
        return super().read(inputs)

    def step(self, carried, rows, inputs):
        self.asked["step"] += 1
        return super().step(carried, rows, inputs)


def test_batches_are_halved_where_memory_runs_out():
    model = sharp_model("lstm", VOCABULARY)
    choices = Choices([*VOCABULARY, "<unk>", "<doc>"], 9, 10)
    inputs = [[10, number % 9, 3] for number in range(11)]
    plain = read_prefixes(WordCarrier(model.network, 10_000), choices, inputs)
    tight = Counted(model.network, 10_000, most=7)
    found = read_prefixes(tight, choices, inputs)
    assert tight.asked["read"] == 6  # two at a time
    np.testing.assert_allclose(found.log_probs(), plain.log_probs(), atol=1e-5)
    with pytest.raises(LeakscopeError, match="no room for one prefix of 3 tokens"):
        read_prefixes(Counted(model.network, 10_000, most=2), choices, inputs)
