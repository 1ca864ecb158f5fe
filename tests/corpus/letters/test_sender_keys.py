"""Whose a letter is. The people are made up."""

from collections import defaultdict

import pytest
from test_hidden_addresses import FORMS, hide

from leakscope.corpus.building.builder import build
from leakscope.corpus.letters.hidden_addresses import mark_of_whole
from leakscope.corpus.letters.sender_keys import (
    BY_NAME,
    FOUND_ELSEWHERE,
    SHORT_NAME,
    TWO_PEOPLE,
    SenderKeys,
)
from leakscope.corpus.letters.senders import Sender

LIST = "list@x.org"
MARK = mark_of_whole("ann@x.org")


def keys_of(*senders):
    keys = SenderKeys(senders)
    return [keys.key(sender) for sender in senders]


def test_a_whole_address_is_never_split():
    two = [Sender("ann@x.org", "ann doe"), Sender("ann@x.org", "bob fox")]
    married = [Sender("ann@x.org", "ann doe"), Sender("ann@x.org", "ann fox")]
    nick = [Sender("ann@x.org", "ann doe"), Sender("ann@x.org", "annie"), Sender("ann@x.org")]
    assert keys_of(*two) == [("ann@x.org", TWO_PEOPLE)] * 2
    assert keys_of(*married) == [("ann@x.org", None)] * 2
    assert keys_of(*nick) == [("ann@x.org", None)] * 3


def test_an_address_that_many_people_share_is_nobodys():
    senders = [Sender(LIST, name) for name in ("ann doe", "bob fox", "eve roe", "eve", None)]
    assert keys_of(*senders) == [
        ("ann doe", BY_NAME),
        ("bob fox", BY_NAME),
        ("eve roe", BY_NAME),
        (f"eve <{LIST}>", SHORT_NAME),
        (None, None),
    ]


def test_a_hidden_address_is_the_whole_one_that_it_was():
    hidden = Sender(name="ann doe", mark=MARK)
    assert keys_of(hidden) == [("ann doe", BY_NAME)]
    assert keys_of(hidden, Sender("ann@x.org"))[0] == ("ann@x.org", FOUND_ELSEWHERE)
    assert keys_of(hidden, Sender("ann@x.org", "ann doe"))[0] == ("ann@x.org", FOUND_ELSEWHERE)
    assert keys_of(hidden, Sender("ann@x.org", "bob fox"))[0] == ("ann doe", BY_NAME)
    assert keys_of(hidden, Sender("ann@x.org"), Sender("asn@x.org"))[0] == ("ann doe", BY_NAME)


def test_a_name_is_the_one_address_that_has_it():
    relayed = Sender(name="ann doe", place=LIST)
    home, work = Sender("ann@home.org", "ann doe"), Sender("ann@work.org", "ann doe")
    assert keys_of(relayed, home)[0] == ("ann@home.org", BY_NAME)
    assert keys_of(relayed, home, work)[0] == ("ann doe", BY_NAME)


def test_one_name_in_two_forms_under_a_hidden_address():
    forms = [Sender(name=name, mark=MARK) for name in ("doe ann", "ann doe", "ann roe doe", None)]
    assert keys_of(*forms) == [("ann doe", BY_NAME)] * 4


def test_two_people_under_a_hidden_address():
    senders = [Sender(name=name, mark=MARK) for name in ("ann doe", "bob fox", "bob", None)]
    assert keys_of(*senders) == [
        ("ann doe", BY_NAME),
        ("bob fox", BY_NAME),
        (f"bob <{MARK}>", SHORT_NAME),
        (f"<{MARK}>", SHORT_NAME),
    ]


def test_nobody():
    assert keys_of(Sender(), Sender(place="@org"), Sender(name="ann")) == [(None, None)] * 3


PEOPLE = [
    ("ann.doe@x.org", "Ann Doe"), ("ann.fox@x.org", "Ann Fox"), ("sam.lee@x.org", "Sam Lee"),
    ("asm.lee@x.org", "Asm Lie"), ("eve@gmail.com", "Eve Roe"), ("bill@sales.org", "Bill Li"),
    ("zoe.fisk@mail.example.com", "=?utf-8?q?Zo=C3=AB_Fisk?="), ("ada@uni.edu", "Noon, Ada"),
]  # fmt: skip


@pytest.fixture
def archive(tmp_path):
    """Three months of a list: addresses spelled with "at", hidden, and the list's own."""
    lines = defaultdict(list)
    for number, (address, name) in enumerate(PEOPLE):
        if number % 2:
            lines["1"].append((f"{address.replace('@', ' at ')} ({name})", name))
        lines["2"] += [(f"{hide(address, form)} ({name})", name) for form in FORMS]
        if "," not in name:
            lines["3"].append((f"{name} via Dev <dev@lists.org>", name))
    for month, letters in lines.items():
        content = "".join(
            f"From x Thu Jan  1 00:00:00 2020\nFrom: {line}\n\nwritten by {name} {number}\n\n"
            for number, (line, name) in enumerate(letters)
        )
        (tmp_path / f"{month}.mbox").write_text(content, encoding="utf-8")
    return sorted(tmp_path.glob("*.mbox"))


def test_an_archive_has_no_key_that_two_names_share(archive, tmp_path):
    corpus = build(archive, tmp_path / "corpus")
    names = defaultdict(set)
    for shard in corpus.shards:
        keys = shard.user_keys()
        for split in ("train", "validation"):
            for part in shard.documents(split, texts=True):
                for user, text in zip(part.users, part.texts, strict=True):
                    names[keys[int(user)]].add(text.split("written by ")[1].rsplit(" ", 1)[0])
    assert {key: found for key, found in names.items() if len(found) != 1} == {}
    assert len(names) == len(PEOPLE) == corpus.manifest.users
    plain = {address for number, (address, _) in enumerate(PEOPLE) if number % 2}
    assert {key for key in names if "@" in key} == plain
    assert set(corpus.manifest.doubtful) == {BY_NAME, FOUND_ELSEWHERE}
    assert corpus.manifest.set_aside == {}
