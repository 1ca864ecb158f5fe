"""presidio for real; these run where the extra is installed: make test-presidio."""

import socket
import sys

import pytest

from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.cleaning.cleaner import clean
from leakscope.corpus.personal_data.kinds import scrub
from leakscope.corpus.personal_data.presidio_finder import presidio_finder
from leakscope.corpus.store import Corpus
from leakscope.records.errors import LeakscopeError

SSN = "my social security number is 536-22-8726, keep it"


@pytest.mark.presidio
def test_presidio_finds_more_than_our_patterns_and_asks_nobody(monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    find = presidio_finder()
    assert scrub(SSN)[1] == {}
    assert scrub(SSN, (), find) == (SSN.replace("536-22-8726", "xxUS_SSNxx"), {"us_ssn": 1})
    assert scrub("123456789", (), find)[1] == {}
    assert scrub("my passport is 123456789", (), find)[1] == {"us_passport": 1}
    both = scrub("card 4111 1111 1111 1111 of ann@example.org", ("email",), find)
    assert both == ("card xxCARDxx of xxEMAILxx", {"card": 1, "email": 1})
    assert scrub("we had sweet tea again", ("email",), find)[1] == {}


@pytest.mark.presidio
def test_cleaning_with_presidio(make_corpus, tmp_path):
    old = make_corpus([("a", SSN), ("b", "nothing to see")])
    summary = clean(old, tmp_path / "new", CleanSettings(presidio=True))
    assert summary.scrub.replaced == {"us_ssn": 1} and summary.scrub.users == 1
    assert "xxUS_SSNxx" in Corpus.open(tmp_path / "new").lexicon.ids


@pytest.mark.presidio
def test_a_model_that_is_not_installed_is_not_downloaded():
    with pytest.raises(LeakscopeError, match="not an installed spaCy pipeline"):
        presidio_finder("en_core_web_nowhere")


def test_without_the_extra_it_says_how_to_get_it(make_corpus, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)  # as if not there
    with pytest.raises(LeakscopeError, match=r"pip install 'leakscope\[presidio\]'"):
        clean(make_corpus([("a", SSN)]), tmp_path / "new", CleanSettings(presidio=True))
    assert not (tmp_path / "new").exists()
