"""The first sentence of a report: what it says of chance."""

import pytest

from leakscope.records.runs.run_metrics import Metrics
from leakscope.reporting.facts.run_summary import summary

METRICS = Metrics.model_construct(
    unique_sequences=132, users_with_unique=26, users=30, top_k=3, longest_unique=23, reasons={},
    chance_unique=15.0, chance_unique_low=7.0, chance_unique_high=27.0, documents=900, words=9000,
)  # fmt: skip


@pytest.mark.parametrize(
    ("confirmed", "low", "said"),
    [
        (100, 88.9, "100 are confirmed as more than chance."),
        (0, 88.9, "at least 88 are more than chance, but none can be told from the others."),
        (0, -3.0, "0 are confirmed as more than chance."),
        (0, None, "0 are confirmed as more than chance."),
    ],
)
def test_nothing_confirmed_is_no_all_clear_where_the_number_is_more_than_chance(
    confirmed, low, said
):
    measured = {"confirmed_unique": confirmed, "excess_unique_low": low}
    text = summary(METRICS.model_copy(update=measured))
    assert text.endswith(f"would show about 15 (95 % interval 7 to 27); {said}")
