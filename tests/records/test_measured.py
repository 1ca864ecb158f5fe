from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.records.measured import UNSAID, Measured
from leakscope.records.models.model_figures import ModelFigures

SOMETHING = st.one_of(
    st.just(UNSAID), st.floats(0, 9).map(Measured), st.text(min_size=1).map(Measured.absent)
)
NAMES = [field.name for field in fields(ModelFigures)]


def test_a_value_and_a_reason_exclude_each_other():
    with pytest.raises(ValueError, match="no reason"):
        Measured(1.0, "it was not asked for")
    assert Measured.of(0, "why") == Measured(0) and Measured.of(0).said
    assert Measured.of(None, "why") == Measured.absent("why")
    assert not UNSAID.said


@given(st.fixed_dictionaries(dict.fromkeys(NAMES, SOMETHING)),
       st.fixed_dictionaries(dict.fromkeys(NAMES, SOMETHING)))  # fmt: skip
def test_newer_figures_take_the_place_of_what_they_speak_of(old, new):
    both = ModelFigures(**old).updated(ModelFigures(**new))
    for name in NAMES:
        expected = new[name] if new[name] != UNSAID else old[name]
        assert getattr(both, name) == expected, "a value never keeps another's reason"
