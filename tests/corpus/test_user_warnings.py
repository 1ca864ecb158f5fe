import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.corpus.building.builder import MANIFEST, build_rows
from leakscope.corpus.manifest import CorpusManifest
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.user_warnings import largest_share, user_warnings


def sizes(users, most, of=1000):
    return [warning.code for warning in user_warnings(users, {"documents": (most, of)})]


@pytest.mark.parametrize(
    ("users", "most", "codes"),
    [
        (1, 1000, ["single_user"]),
        (2, 800, []),  # among two or three, a large share is nothing strange
        (2, 801, ["large_user"]),
        (2, 999, ["large_user"]),
        (3, 800, []),
        (3, 801, ["large_user"]),
        (4, 500, []),  # more than half is suspicious among any others
        (4, 501, ["large_user"]),
        (10, 991, ["large_user"]),
        (20, 500, []),
        (20, 501, ["large_user"]),
        (21, 476, []),  # ten times an equal share
        (21, 477, ["large_user"]),
        (50, 200, []),
        (50, 201, ["large_user"]),
        (500, 100, []),
        (500, 101, ["large_user"]),
        (500, None, []),
    ],
)
def test_when_a_share_is_suspicious(users, most, codes):
    assert sizes(users, most) == codes


def test_a_key_that_swallows_a_small_corpus():
    """Eight people with a document each, and a key that stands for many."""
    assert sizes(9, 900, of=908) == ["large_user"]


@given(st.integers(2, 10_000))
def test_any_number_of_users_can_be_warned_of(users):
    least = largest_share(users)
    assert 1 / users < least < 1 and least >= largest_share(users + 1)
    whole = 100 * users
    assert sizes(users, whole - (users - 1), of=whole) == ["large_user"]  # the others: one each


def test_documents_and_words_are_looked_at(tmp_path):
    rows = [Row(f"user{number}", "a b") for number in range(200)]
    fine = build_rows(rows, tmp_path / "fine").manifest
    assert fine.warnings == [] and fine.most_words == 2
    wordy = build_rows([*rows, Row("user7", "word " * 100)], tmp_path / "wordy").manifest
    assert wordy.most_words == 102
    (warning,) = wordy.warnings
    assert "20.4% of the words:" in warning.message and "documents" not in warning.message
    busy = build_rows([*rows, *[Row("user7", "a")] * 50], tmp_path / "busy").manifest
    assert [each.code for each in busy.warnings] == ["large_user"]
    assert "20.4% of the documents" in busy.warnings[0].message


def test_doubts_are_counted_of_documents_only(tmp_path):
    rows = [Row("a", "x", doubts=("one", "two")), Row("b", "y", doubts=("one",)),
            Row("c", "", doubts=("one",)), Row("d", "z")]  # fmt: skip
    corpus = build_rows(rows, tmp_path / "c")
    assert corpus.manifest.doubtful == {"one": 2, "two": 1}
    assert corpus.manifest.set_aside == {"empty text": 1}
    copied = build_rows([*rows, Row("e", "z", accepted=True)], tmp_path / "copied")
    assert copied.manifest.doubtful is None  # not known, which is not none


def test_a_manifest_of_an_earlier_version_is_read(tmp_path):
    build_rows([Row("ann", "a b")], tmp_path / "c")
    kept = json.loads((tmp_path / "c" / MANIFEST).read_text())
    del kept["doubtful"], kept["most_words"]
    manifest = CorpusManifest.model_validate(kept)
    assert manifest.doubtful is None and manifest.most_words is None
    assert [warning.code for warning in manifest.warnings] == ["single_user"]
