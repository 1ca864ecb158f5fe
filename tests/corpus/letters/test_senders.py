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


def test_an_address_within_a_quoted_name_hides_nothing():
    assert sent(b'"Ann Doe <ann@x.org>" <ann@x.org>').address == "ann@x.org"


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


BOB = Sender("bob@example.com")


@pytest.mark.parametrize(
    "line",
    [
        b'"bob@example.com via List" <list@example.org>',
        b"Bob@Example.com via List <list@example.org>",
        b"\"'bob@example.com' via List\" <list@example.org>",
        b'"\\"bob@example.com\\" via List" <list@example.org>',
        b"bob at example.com via List <list@example.org>",
        b"=?utf-8?q?bob=40example=2Ecom_via_List?= <list@example.org>",
        b"list@example.org (bob@example.com via List)",
    ],
)
def test_a_list_that_names_a_sender_by_address(line):
    assert sent(line) == BOB
    assert sent(line, Reply_To=b"Help <help@example.org>") == BOB
    assert sent(line, Reply_To=b"discuss@example.org") == BOB  # no name is not the same name
    named = BOB._replace(name="bob fox")
    assert sent(line, Reply_To=b"Bob Fox <bob@example.com>") == named
    assert sent(line, X_Original_From=b"Bob Fox <bob@example.com>") == named


@pytest.mark.parametrize(
    "line",
    [
        b'"Bob Fox <bob@example.com> via List" <list@example.org>',
        b'"Bob Fox (bob@example.com) via List" <list@example.org>',
    ],
)
def test_a_list_that_names_a_sender_by_name_and_address(line):
    assert sent(line) == Sender("bob@example.com", "bob fox")


@pytest.mark.parametrize(
    "name", ["list@example.org", "LIST@example.org", "bob@example.com ann@example.com", "bo...@e.g"]
)
def test_neither_the_lists_own_address_nor_one_of_several_is_the_senders(name):
    found = sent(f'"{name} via List" <list@example.org>'.encode())
    assert found == Sender(place="list@example.org")


def test_a_reply_address_counts_for_lists_only():
    assert sent(b"Ann Doe <ann@x.org>", Reply_To=b"Ann Doe <ann@y.org>") == ANN


def test_a_name_and_nothing_else():
    assert sent(b"Ann Doe") == Sender(name="ann doe")
    assert sent(b"") == Sender()


def test_an_address_in_no_known_charset():
    with pytest.raises(UnicodeError):
        sent("Ann <andré@x.org>".encode("latin-1"))
    with pytest.raises(UnicodeError):
        sent('"andré@example.com via List" <list@example.org>'.encode("latin-1"))
