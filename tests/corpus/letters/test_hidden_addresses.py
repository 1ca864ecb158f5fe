import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.corpus.letters.hidden_addresses import (
    hidden_mark,
    is_whole,
    mark_of_whole,
    unhidden,
)

FORMS = [
    ("@end|ng |rom", {"a": "@", "s": "@", ".": "@", "i": "|", "l": "|", "f": "|"}),
    ("@ending from", {"a": "@", "s": "@", ".": "@"}),
    ("m@iii@g oii", {"a": "@", "n": "@", ".": "@", "l": "i", "f": "i"}),
    ("m@ili@g off", {"a": "@", "n": "@", ".": "@"}),
]
PARTS = st.text(string.ascii_lowercase + string.digits + "-_+", min_size=1, max_size=12)


def hide(address, form):
    """As the list software does it: letter by letter."""
    middle, letters = form
    local, _, domain = address.partition("@")
    hidden = ["".join(letters.get(char, char) for char in part) for part in (local, domain)]
    return f"{hidden[0]} {middle} {hidden[1]}"


def test_the_forms_are_those_that_occur():
    assert hide("simon.doe@R-project.org", FORMS[0]) == "@|mon@doe @end|ng |rom R-project@org"
    assert hide("ann.lee@x.org", FORMS[1]) == "@nn@lee @ending from x@org"
    assert hide("ann.lee@x.org", FORMS[2]) == "@@@@iee m@iii@g oii x@org"


@given(st.lists(PARTS, min_size=1, max_size=3), st.lists(PARTS, min_size=2, max_size=3))
def test_every_form_leaves_the_same_mark(local, domain):
    address = ".".join(local) + "@" + ".".join(domain)
    marks = {hidden_mark(hide(address, form)) for form in FORMS}
    assert marks == {mark_of_whole(address)}


def test_a_form_that_nobody_has_seen_yet():
    assert hidden_mark("@nn %doe% |r@m x@org") is not None
    assert hidden_mark("Ann Doe ann@x.org") is None
    assert hidden_mark("Ann Doe") is None


@pytest.mark.parametrize(
    "text",
    ["ann at x.org", "ann AT x.org", "ann using x.org", "ann [at] x.org", "ann(at)x.org",
     "ann <at> x.org", "ann at x dot org", "ann [at] x [dot] org", "ann () x ! org", " ann@x.org "],
)  # fmt: skip
def test_undone(text):
    assert unhidden(text) == "ann@x.org"


@pytest.mark.parametrize(
    ("address", "whole"),
    [
        ("ann@x.org", True),
        ("a+b_c-d@localhost", True),
        ("@org", False),
        ("ann@", False),
        ("an...@x.org", False),
        ("***@x.org", False),
        ("|@b|o@x", False),
        ("a@b@c", False),
        ("ann", False),
    ],
)
def test_whole(address, whole):
    assert is_whole(address) is whole
