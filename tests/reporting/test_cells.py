import json
import math

import pyarrow as pa
import pytest

from leakscope.records.columns import Column, Display
from leakscope.reporting.rows.cells import columns_for, sort_key, text, text_or_bound

BOUND = Display("Least", "bound", exact="sure", instead="tried")


def column(display: Display) -> Column:
    return Column("x", pa.int32(), "a test's", display=display)


@pytest.mark.parametrize(
    ("form", "value", "written", "key"),
    [
        ("count", 1234, "1,234", 1234), ("count", None, "–", None), ("count", 0, "0", 0),
        ("number", 1.23456789, "1.23", 1.234568), ("number", None, "–", None),
        ("number", math.inf, "inf", None), ("shortest", [7, 3, 9], "3", 3),
        ("shortest", [], "–", None), ("shortest", None, "–", None),
        ("mark", True, "Title", True), ("mark", None, "", False),
    ],
)  # fmt: skip
def test_each_form_is_written_and_sorted(form, value, written, key):
    how = Display("Title", form)
    row = {"x": value}
    assert text(row, column(how), how) == written
    found = sort_key(row, column(how), how)
    assert found == key and json.dumps(found, allow_nan=False)


def test_bounds_say_so_and_fall_back_only_where_asked():
    for row, plain, bounded in (
        ({"x": 4, "sure": True, "tried": [9]}, "4", "4"),
        ({"x": 4, "sure": False, "tried": [9]}, "≤ 4", "≤ 4"),
        ({"x": None, "tried": [9, 6]}, "–", "≤ 6"),
        ({"x": None, "tried": []}, "–", "–"),
        ({}, "–", "–"),
    ):
        assert text(row, column(BOUND), BOUND) == plain
        assert text_or_bound(row, column(BOUND), BOUND) == bounded


def test_optional_columns_are_left_out_where_no_row_has_a_value():
    optional = column(Display("Ratio", "number", optional=True))
    assert columns_for([{"x": None}, {}], [optional], "page") == []
    assert columns_for([{"x": None}, {"x": 1.0}], [optional], "page") != []
    assert columns_for([{"x": 1.0}], [optional], "easiest") == []
