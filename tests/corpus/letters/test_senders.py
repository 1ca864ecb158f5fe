import pytest

from leakscope.corpus.letters.hidden_addresses import mark_of_whole
from leakscope.corpus.letters.senders import Sender, sender_of

ANN = Sender("ann@x.org", "ann doe")
LIST = b"Ann Doe via R-sig-x <r-sig-x@lists.org>"


def sent(from_line, **others):
    headers = {"From": from_line} | {name.replace("_", "-"): v for name, v in others.items()}
    return sender_of(lambda name: headers.get(name, b""))


@pytest.mark.parametrize(
    "line",
    [
        b"Ann Doe <Ann@X.org>",
        b'"Doe, Ann" <ann@x.org>',
        b"Doe, Ann <ann@x.org>",
        b"ann@x.org (Ann Doe)",
        b"ann at x.org (Ann Doe)",
        b"ann using x.org (=?utf-8?q?Ann_Do=C3=A9?=)",
        b"=?iso-8859-1?B?QW5uIERv6Q==?= <ann@x.org>",
        b"=?utf-8?q?Ann?= =?utf-8?q?_Doe?= <ann@x.org>",
        "Ann Doé <ann@x.org>".encode(),
        "Ann Doé <ann@x.org>".encode("latin-1"),
    ],
)
def test_one_sender_in_many_forms(line):
    assert sent(line) == ANN


@pytest.mark.parametrize(
    "line",
    [
        b"@nn @end|ng |rom x@org (Ann Doe)",
        b"Ann Doe <@nn @end|ng |rom x@org>",
        b"@nn @ending from x@org (=?utf-8?q?Doe=2C_Ann?=)",
    ],
)
def test_hidden(line):
    assert sent(line) == Sender(name="ann doe", mark=mark_of_whole("ann@x.org"))


def test_hidden_without_a_name():
    line = b"@@@ m@iii@g oii x@org (@@@ m@iii@g oii x@org)"
    assert sent(line) == Sender(mark=mark_of_whole("ann@x.org"))


def test_what_is_left_of_an_address_is_not_the_senders_alone():
    assert sent(b"Ann Doe <an...@x.org>") == Sender(name="ann doe", place="an...@x.org")
    assert sent(b"Ann Doe <@org>").address is None


def test_a_list_that_sends_under_its_own_address():
    assert sent(LIST) == Sender(name="ann doe", place="r-sig-x@lists.org")
    assert sent(LIST, Reply_To=b"Ann Doe <ann@x.org>") == ANN
    assert sent(LIST, X_Original_From=b"ann@x.org") == ANN
    assert sent(LIST, X_Original_Sender=b"ann@x.org") == ANN
    others = sent(LIST, Reply_To=b"R-sig-x <r-sig-x@lists.org>, Bob Fox <bob@x.org>")
    assert others == Sender(name="ann doe", place="r-sig-x@lists.org")


def test_a_reply_address_counts_for_lists_only():
    assert sent(b"Ann Doe <ann@x.org>", Reply_To=b"Ann Doe <ann@y.org>") == ANN


def test_a_name_and_nothing_else():
    assert sent(b"Ann Doe") == Sender(name="ann doe")
    assert sent(b"") == Sender()


def test_an_address_in_no_known_charset():
    with pytest.raises(UnicodeError):
        sent("Ann <andré@x.org>".encode("latin-1"))
