import pytest

from leakscope.corpus.letters.person_names import is_full_name, person_name, unrelated


@pytest.mark.parametrize(
    "written",
    [
        "Ann Doe",
        "ann  DOE",
        "Doe, Ann",
        '"Doe, Ann"',
        "Dr. Ann Doe",
        "Ann Doe, PhD",
        "Ann B. Doe",
        "Ann Doe (Example Lab)",
        "Ann Doe [ext]",
        "Ann Doe - Example Lab",
        "Ann Doé",
        "'Ann Doe' via R-sig-x",
        "Ann Doe via R-sig-x",
    ],
)
def test_one_name_in_many_forms(written):
    assert person_name(written) == "ann doe"


@pytest.mark.parametrize("text", ["", "ann@x.org", "ann at x.org", "@nn @end|ng |rom x@org", "..."])
def test_what_is_no_name(text):
    assert person_name(text) is None


@pytest.mark.parametrize(
    ("name", "full"),
    [("ann doe", True), ("j c doe", True), ("jdoe", False), ("a d", False), ("王伟", True)],
)
def test_full_names(name, full):
    assert person_name(name) == name and is_full_name(name) is full


def test_unrelated_names():
    assert unrelated(set()) == 0
    assert unrelated({"ann doe", "ann fox"}) == 1  # married
    assert unrelated({"ann doe", "ann fox", "bob fox"}) == 1  # by way of a third
    assert unrelated({"ann doe", "bob fox", "eve roe"}) == 3
