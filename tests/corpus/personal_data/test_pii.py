"""Personal data by pattern: what is found, what is not, and that nothing blows up."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.corpus.personal_data.kinds import KINDS, Finding, apart, find_pii, scrub
from leakscope.corpus.personal_data.placeholders import placeholder, put
from leakscope.corpus.personal_data.street_addresses import joined
from leakscope.corpus.synthetic.generate import documents, truth
from leakscope.corpus.synthetic.grammar import sentences
from leakscope.corpus.synthetic.synth_settings import SynthSettings
from leakscope.corpus.words import spans, words
from leakscope.records.errors import LeakscopeError

FOUND = {
    "email": ["ann@example.org", "a.b+c@mail.example.co.uk", "jürgen@exämple.de", "A_1@B-C.io"],
    "phone": [
        "+44 20 7946 0958",
        "+44 (0)20 7946 0958",
        "+1-555-123-4567",
        "+4930123456",
        "0049 30 1234567",
        "(555) 123-4567",
        "555-123-4567",
        "555.123.4567",
        "555/123-4567",
        "44.20.7946.0958",
        "65-6-123-4567",
        "1-555-123-4567",
        "555-1234",
        "020 7946 0958",
        "(030) 1234567",
        "030/1234567",
        "0171-1234567",
        "06 12 34 56 78",
        "04 23 45 67",
        "13812345678",
    ],
    "card": [
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "4111111111111111",
        "3782 822463 10005",
        "6304 0000 0000 0000 000",
        "4222222222222",
    ],
    "account": ["DE89 3704 0044 0532 0130 00", "gb82west12345698765432", "NO93 8601 1117 947"],
    "address": [
        "12 Birch Lane, Oakham 34 56",
        "12 Birch Lane",
        "1600 Pennsylvania Ave. NW 20500",
        "100 Main St, Apt 4, Springfield, IL 62704",
        "221B Baker Street, London NW1 6XE",
        "Birch Lane 12",
        "Hauptstraße 12, 10115 Berlin",
        "Karl-Marx-Allee 5",
        "Große Hamburger Straße 17a",
        "Bahnhofstr. 5",
        "12 rue de la Paix, 75002 Paris",
        "Via Roma 12",
        "Kerkstraat 5",
        "12 birch lane, oakham 34 56",
        "P.O. Box 1234",
        "P.O. Box 1234\nOakham, TX 75001-1234",
        "12 Birch Lane, Oakham, TX",
        "12 Birch Lane\nOakham, Texas 75001",
        "12 Birch Lane\n\nOakham, TX   75001-1234",
        "12 Birch Lane NW\nOakham DC 20001",
        "12 Birch Lane, N.W.",
        "12 Birch Avenue North, Suite 16,\n\nOakham, MN 55001",
        "12 Birch Street, Suite 12A\nNew Oakham, New York 10001",
        "12 Birch Street\n8th Floor\nOakham, NY  10001",
        "12 Birch Street, AC 1234\nOakham, TX 75001",
        "12 Birch Street, AC123D, Oakham, Texas, 75001",
        "12 Birch Ave, # 55\nOakham, VT 05001",
        "12 Upper Birch Street\nOAKHAM  AB1C 2DE",
        "77 Birch, Suite 29\nOakham, TX 75001",
        "77 West Birch, Ste. 29",
        "77 Birch\nOakham, TX  75001",
        "New Oakham, South Dakota 57001",
    ],
    "url": ["https://example.org/a?b=c@d.ef", "www.example.org", "ftp://x.y/z(1)", "HTTP://A.B"],
    "ip": [
        "192.168.0.1",
        "255.255.255.255",
        "2001:db8::8a2e:370:7334",
        "fe80::1",
        "::ffff:1.2.3.4",
    ],
}


@pytest.mark.parametrize(("kind", "text"), [(k, text) for k in FOUND for text in FOUND[k]])
@pytest.mark.parametrize("frame", ["{}", "it is {}.", "({})", "before {}, and after", "请看{}吧"])
def test_what_is_found(kind, text, frame):
    if kind == "url" and frame == "请看{}吧":
        frame = "请看{}。"  # letters may belong to an address; the full stop does not
    whole = frame.format(text)
    start = whole.index(text)
    assert find_pii(whole) == [Finding(start, start + len(text), kind)]
    said = words(scrub(whole)[0])
    assert said.count(placeholder(kind)) == 1
    assert said == words(frame.format(f" {placeholder(kind)} "))


@pytest.mark.parametrize(
    "text",
    [
        "on 2020-01-02, 02.01.2020, 01/02/2020, 05-06-1999 and 01 02 2020",
        "call me on 2021-10-12 or 12.10.2021 at 10:30:45",
        "the account was opened on 2019-10-12",
        "Python 3.11.4, v1.2.3.4, version 1.2.3.4, 10.15.7 and 0.12.3456",
        "1 12 123 1234 12345 123456 1,000,000 3.14159265 10 000 000",
        "1914-1918, 12345-6789, 16:9, 1/2, 50% of 2,500.00",
        "4111 1111 1111 1112 and 12 34 56 78 90",  # no card, no cue
        "300.1.2.3 and 1.2.3 and 1.2.3.4.5",
        "std::vector a::b Foo::Bar 12:30:45 ::",
        "Wall Street 2008, the long road, 2 different road, 5 minutes down the road",
        "a@b @name name@ me@localhost and/or www. http:// x:// (http://) www...",
        "In 2001 the team won. Way 5 times Close. My Account is 5 days old.",
        "node 12 34 is up and all checks have passed.",
        "Oakham St. 12 to Oakham St. 13, ask for Dr. 5",
        "In 2001 Oakham, in TX 5 of Birch, 12, Ann Lee #45, and 5 Guests, Room 12",
        "since 2001 Acme Corp, of Texas, 75001 more",
        "order no. 44.20.7946.0958, 12.345.678.9012, awww. so cute",
    ],
)
def test_what_is_not_found(text):
    assert find_pii(text) == []


@pytest.mark.parametrize("url", ["www.example.org/a", "http://example.org", "HTTPS://a.example"])
def test_a_url_begins_where_the_word_before_it_ends(url):
    text = f"the club of Oakham{url}, and later"
    start = text.index(url)
    assert find_pii(text) == [Finding(start, start + len(url), "url")]
    assert scrub(text)[0] == "the club of Oakham xxURLxx, and later"
    assert find_pii(f"git+{url}")[0].start == (4 if url.startswith("www") else 0)


def test_what_overlaps_in_an_address_is_one_address():
    """The house number of the second line could be the first one's post code."""
    text = "at 31 Birch Avenue South\n900 Birch Exchange\nOakham, MN 55001, today"
    start, end = text.index("31"), text.index(", today")
    assert find_pii(text) == [Finding(start, end, "address")]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)).map(lambda t: (t[0], sum(t)))))
def test_overlapping_spans_are_joined_as_plainly(found):
    taken = {n for low, high in found for n in range(low, high)}
    whole = {n for low, high in found for n in range(low + 1, high)}  # no address begins at these
    plainly = [[n] for n in sorted(taken - whole)]
    for start in plainly:
        while start[-1] + 1 in whole:
            start.append(start[-1] + 1)
    assert list(joined(found)) == [(run[0], run[-1] + 1) for run in plainly]


def test_a_wrong_checksum_is_no_iban():
    right = "DE89370400440532013000"
    for place in range(4, len(right)):
        wrong = right[:place] + str((int(right[place]) + 1) % 10) + right[place + 1 :]
        assert find_pii(wrong, ("account",)) == []
    assert find_pii("XX" + right[2:], ("account",)) == []


def _iban_plainly(number: str) -> bool:
    """The standard: four characters to the end, letters as 10 to 35, remainder 1 by 97."""
    moved = number[4:] + number[:4]
    return int("".join(str(int(letter, 36)) for letter in moved)) % 97 == 1


@given(st.text("0123456789", min_size=18, max_size=18), st.integers(0, 97), st.booleans())
def test_ibans_equal_the_standard(bank, check, right):
    if right:
        rest = int(f"{bank}131400") % 97  # DE00 moved to the end
        check = 98 - rest
    number = f"DE{check:02d}{bank}"
    assert bool(find_pii(number, ("account",))) == _iban_plainly(number)
    assert right <= _iban_plainly(number)


def test_countries_that_joined_the_register_are_known():
    assert find_pii("MN12 1234 1234 5678 9123", ("account",)) != []
    # the checksum is right, but a German account number has no letters
    number = "370400A40532013000"
    check = 98 - int("".join(str(int(letter, 36)) for letter in f"{number}DE00")) % 97
    assert _iban_plainly(f"DE{check:02d}{number}")
    assert find_pii(f"DE{check:02d}{number}", ("account",)) == []


def test_digits_of_other_scripts_are_digits():
    arabic = "".join(chr(0x660 + int(digit)) for digit in "4111111111111111")
    assert [found.kind for found in find_pii(arabic, ("card",))] == ["card"]


def test_words_announce_numbers():
    for text, number, kind in [
        ("Please pay Zoë O'Neill into account 12 34 56 78 90.", "12 34 56 78 90", "account"),
        ("acct no. 123456", "123456", "account"),
        ("Konto-Nr. 12345678", "12345678", "account"),
        ("my phone number is 2345678 now", "2345678", "phone"),
        ("Tel.: 98765 43210", "98765 43210", "phone"),
    ]:
        start = text.index(number)
        assert find_pii(text) == [Finding(start, start + len(number), kind)]
        assert find_pii(number) == []


def test_only_the_kinds_asked_for_and_only_known_ones():
    text = "ann@example.org or 555-123-4567"
    assert [f.kind for f in find_pii(text, ("phone",))] == ["phone"]
    assert scrub(text, ("email",)) == ("xxEMAILxx or 555-123-4567", {"email": 1})
    assert find_pii(text, ()) == []
    with pytest.raises(LeakscopeError, match="name cannot be scrubbed; the kinds are email"):
        find_pii(text, ("name",))


def _luhn_plainly(number: str) -> bool:
    """The textbook: double every second digit from the right, add all digits up."""
    total = ""
    for place, digit in enumerate(number[::-1]):
        total += str(int(digit) * (2 if place % 2 else 1))
    return sum(map(int, total)) % 10 == 0


@given(st.text("0123456789", min_size=11, max_size=21))
def test_cards_equal_the_textbook(number):
    expected = 13 <= len(number) <= 19 and number[0] != "0" and _luhn_plainly(number)
    assert bool(find_pii(number, ("card",))) == expected


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(1, 12), st.sampled_from(KINDS)).map(
            lambda t: Finding(t[0], t[0] + t[1], t[2])
        )
    )
)
def test_overlaps_are_settled_as_plainly(findings):
    kept = []
    for one in sorted(findings, key=lambda f: f.start - f.end):
        if all(one.end <= other.start or other.end <= one.start for other in kept):
            kept.append(one)
    assert apart(findings) == sorted(kept)


PIECES = st.sampled_from(
    [
        " ",
        "1",
        "12",
        "34",
        "0",
        "555",
        "-",
        ".",
        ":",
        "/",
        "+",
        "(",
        ")",
        "@",
        "a",
        "b.co",
        "'",
        "_",
    ]
    + ["account ", "tel ", "Birch Lane", " 12 ", "https://", "www.", "東", "é", "\n", ",", "xx"]
    + [text for found in FOUND.values() for text in found]
)


@given(st.lists(PIECES, max_size=14).map("".join))
def test_findings_are_sorted_apart_and_scrubbing_twice_changes_nothing(text):
    found = find_pii(text)
    assert all(0 <= f.start < f.end <= len(text) for f in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    once, counts = scrub(text)
    assert scrub(once) == (once, {})
    assert sum(counts.values()) >= len(found)
    assert find_pii(once) == []


@given(st.text(st.sampled_from("ab1 .'’_-東é\u0301\n!"), max_size=20), st.data())
def test_what_is_put_in_is_a_word_of_its_own(text, data):
    places = spans(text)
    chosen = data.draw(st.lists(st.booleans(), min_size=len(places), max_size=len(places)))
    changes = [(*span, "xxRARExx") for span, out in zip(places, chosen, strict=True) if out]
    expected = ["xxRARExx" if out else word for word, out in zip(words(text), chosen, strict=True)]
    found = words(put(text, changes))
    assert found.count("xxRARExx") == expected.count("xxRARExx")
    assert found == expected


def test_placeholders_are_words():
    for kind in (*KINDS, "rare", "us_ssn"):
        assert words(placeholder(kind)) == [placeholder(kind)]


@pytest.mark.parametrize(
    "piece",
    [
        *("1", "a@", "1 ", "a", "A ", "A-", ".", "'", "@", "0", "00 ", "+1", "1-", "1.", "a."),
        *(":", "1:", "1.1.1.1-", "f:", "www.", "a://", "12 A ", "12 Birch ", "account ", "(0"),
        *("account 123456 ", "DE89 ", "DE893704", "(", "04 23 45 67 ", "555-123-4567.", "\n"),
        *("tel 1", "A1 ", "-", "4111 ", "41 ", "a1@b.co-", "Straße ", "de la ", "12, ", "rue "),
        *("!?", "12 A", "A. ", "1 A. ", "account a ", "https://", "1.1.1.1 ", "(555) ", "xx"),
        *(
            "12 A, ",
            "A, TX ",
            "A\n\n",
            "Suite 1 ",
            "A, TX 12345 ",
            "12 A\n",
            "1-23-456-",
            "New York ",
        ),
        *("12 A Street\n\n", "12 A Lane, AB1\n", " \n", "A, ", "awww.a", "ahttp://"),
    ],
)
def test_time_grows_with_the_text_only(piece):
    """100 kB of trouble. With a pattern that backtracks this test would not end."""
    text = piece * (100_000 // len(piece))
    assert find_pii(text + "x") is not None
    once, _ = scrub(text)
    assert scrub(once) == (once, {})


def test_planted_secrets_are_found_and_general_sentences_are_not():
    settings = SynthSettings(users=120, words_per_user=300)
    secrets = [item for item in truth(settings) if item.kind in ("address", "phone", "account")]
    told = [row.text for row in documents(settings)]
    assert len(secrets) > 100
    for item in secrets:
        text = next(text for text in told if item.text in text)
        start = text.index(item.text)
        assert Finding(start, start + len(item.text), item.kind) in find_pii(text), item.kind
    for mail in (False, True):
        assert all(find_pii(s) == [] for s in sentences(Random(1), 2000, mail=mail))
