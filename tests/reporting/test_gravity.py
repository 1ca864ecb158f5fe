"""What is listed first."""

from leakscope.reporting.facts.values import figure, rounded
from leakscope.reporting.rows.listing import gravest
from leakscope.reporting.svg.canvas import number
from report_runs import sequence


def test_confirmed_then_length_times_log_ratio_with_personal_data_first_among_equals(make_run):
    rows = [
        sequence(0, "to the", ratio=900.0, q_value=0.4, pii=[]),
        sequence(1, "a b c", ratio=3.0, q_value=0.01, pii=[]),
        sequence(2, "d e", ratio=70.0, q_value=0.05, pii=[]),
        sequence(3, "f g h i", ratio=3.0, q_value=0.01, pii=[]),
        sequence(4, "j", ratio=3.0, q_value=0.01, pii=["phone"]),
        sequence(5, "k l", ratio=None, q_value=0.01, pii=[]),
        sequence(8, "n", ratio=5.0, q_value=0.4, pii=["phone"]),
        sequence(9, "o", ratio=5.0, q_value=0.4, pii=[]),
        sequence(7, "m", ratio=80.0, q_value=0.01, pii=[]),  # 4.38 nats, and f g h i has 4.39
        sequence(6, "thank you", users=40, total=90),
    ]
    run = make_run(rows=rows)
    found = [row.values["id"] for row in gravest(run, 10, revealed=True)]
    assert found == [4, 2, 3, 7, 1, 5, 0, 8, 9]
    assert [row.values["id"] for row in gravest(run, 2, revealed=True)] == [4, 2]


def test_great_numbers_are_powers():
    assert rounded(16_933_754_880.0) == "1.69 × 10¹⁰"
    assert figure(16_933_754_880.0) == "1.69338 × 10¹⁰" and figure(12_345.678) == "12,345.7"
    assert rounded(999_999.0) == "999,999"
    assert number(1e7) == "10⁷" and number(2e9) == "2 × 10⁹" and number(1000) == "1,000"
    assert number(1e5) == "10⁵" and number(250_000) == "2.5 × 10⁵" and number(50_000) == "50,000"
