"""Letters that were made to hold the reader: each is read or set aside at once."""

import time
from contextlib import suppress

import pytest

from leakscope.corpus.letters.charsets import KNOWN, decode_known, is_known
from leakscope.corpus.letters.sender_keys import BY_NAME, SenderKeys
from leakscope.corpus.letters.senders import Sender
from leakscope.corpus.readers.bounded_message import (
    DEEPEST,
    LONGEST_HEADER,
    TooComplexError,
    parse_message,
)
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.readers.mail import NOT_AS_NAMED, read_maildir, read_mbox, strip_reply
from leakscope.corpus.readers.rows import LINK_OUTSIDE, TOO_COMPLEX, Row

COMPLEX = Row(None, None, TOO_COMPLEX)
HI = Row("ann@x.org", "hi")
FROM = b"From: ann@x.org\n"


@pytest.fixture
def quickly(tmp_path):
    """Reads one letter, at once (generously, since machines are shared)."""

    def read(letter):
        path = tmp_path / "data.mbox"
        path.write_bytes(b"From ann Thu Jan  1 00:00:00 2020\n" + letter)
        begin = time.process_time()
        (row,) = read_mbox(path, InputSettings())
        assert time.process_time() - begin < 3.0
        return row

    return read


@pytest.mark.parametrize(
    "value",
    [b"a" * 30_000, b"a at " * 6_000, b"(" * 30_000, b'"' * 30_001, b"=?utf-8?q?a?= " * 2_000,
     b"<" * 30_000, b",\n " * 10_000, b"=?punycode?b?" + b"YS0" * 10_000 + b"?="],
)  # fmt: skip
def test_a_long_sender_is_set_aside(quickly, value):
    assert quickly(b"From: " + value + b"\n\nhi\n") == COMPLEX


@pytest.mark.parametrize(
    "piece", [b"a", b"a at ", b'"', b"<", b",", b"=?utf-8?q?a?=", b"a@b ", b"\\"]
)
def test_the_longest_sender_that_is_read(quickly, piece):
    quickly(b"From: " + (piece * LONGEST_HEADER)[: LONGEST_HEADER - 2] + b"\n\nhi\n")


@pytest.mark.parametrize("charset", [b"punycode", b"idna", b"unicode_escape", b"x" * 400_000])
def test_what_is_no_charset_for_text(quickly, charset):
    head = FROM + b"Content-Type: text/plain; charset=" + charset
    row = quickly(head + b"\n\n" + b"a-b9" * 100_000 + b"\n")
    plain = Row("ann@x.org", "a-b9" * 100_000, doubts=(NOT_AS_NAMED,))
    assert row == (COMPLEX if len(charset) > 100 else plain)


@pytest.mark.parametrize(
    "body", [bytes(range(128, 256)) * 20_000, b"a\xe9" * 1_000_000, b"\xd0\xc0\xc1 \n" * 500_000]
)
def test_bytes_of_no_charset(quickly, body):
    quickly(FROM + b"\n" + body)


def test_an_address_with_a_hundred_thousand_names():
    begin = time.process_time()
    names = [
        f"{chr(97 + n % 26) * 2}{'x' * (n % 1000)} y{'z' * (n // 1000)}" for n in range(100_000)
    ]
    senders = [Sender("list@x.org", name) for name in names]
    keys = SenderKeys(senders)
    assert {keys.key(sender) for sender in senders[:1000]} == {(n, BY_NAME) for n in names[:1000]}
    assert time.process_time() - begin < 3.0


def test_a_word_of_the_sender_in_no_charset_for_text(quickly):
    long = b"From: =?punycode?q?" + b"a" * 1_500 + b"-9999?= <ann@x.org>\n\nhi\n"
    assert quickly(long) == HI


def test_html_that_never_ends(quickly):
    row = quickly(FROM + b"Content-Type: text/html\n\nhi" + b"<a " * 20_000 + b"\n")
    assert row == HI


def nested(depth, inner=b"Content-Type: text/plain\n\nhi\n"):
    for level in range(depth):
        mark = b"b%d" % level
        head = b"Content-Type: multipart/mixed; boundary=" + mark
        inner = head + b"\n\n--" + mark + b"\n" + inner + b"\n--" + mark + b"--\n"
    return FROM + inner


def test_parts_in_parts(quickly):
    assert quickly(nested(DEEPEST)) == HI
    assert quickly(nested(DEEPEST + 1)) == COMPLEX
    assert quickly(nested(5_000)) == COMPLEX
    letters = FROM + b"Content-Type: message/rfc822\n\n" * 5_000 + b"hi\n"
    assert quickly(letters) == COMPLEX


@pytest.mark.parametrize(
    "part", [b"--s\n\nhi\n", b"--s\na\n", b"--s\nContent-Type: message/rfc822\n\n"]
)
def test_a_hundred_thousand_parts(quickly, part):
    head = FROM + b"Content-Type: multipart/mixed; boundary=s\n\n"
    assert quickly(head + part * 100_000) == COMPLEX


@pytest.mark.parametrize(
    "parameters",
    [b"boundary=" + b"x" * 400_000, b"a;" * 50_000, b'a="' * 50_000, b"b*0=x;" * 50_000],
)
def test_a_long_type(quickly, parameters):
    assert quickly(FROM + b"Content-Type: multipart/mixed; " + parameters + b"\n\nhi\n") == COMPLEX


def test_many_short_lines_and_headers(quickly):
    assert quickly(FROM + b"X: y\n" * 50_000 + b"\nhi\n") == HI
    with pytest.raises(TooComplexError):
        parse_message(FROM + b"\nhi" + b"\n" * (1 << 21))


@pytest.mark.parametrize(
    "text",
    ["\n" * 50_000 + ">\n\n" * 50_000, "\n" * 50_000 + "On 1 May Jo wrote:\n>\n" * 30_000,
     "> a\nb\n" * 50_000, "_" * 20 + "\n" + "x\n" * 50_000],
)  # fmt: skip
def test_replies_to_replies(text):
    begin = time.process_time()
    strip_reply(text)
    assert time.process_time() - begin < 3.0


@pytest.mark.parametrize("charset", sorted(KNOWN))
def test_every_charset_is_quick_to_decode(charset):
    assert is_known(charset) and is_known(charset.upper())
    for data in (b"+AGE-" * 80_000, bytes(range(256)) * 1_600, b"\x1b$B!!\x1b(B~{" * 40_000):
        begin = time.process_time()
        with suppress(UnicodeError):
            decode_known(data, charset)
        assert time.process_time() - begin < 2.0


@pytest.mark.parametrize(
    "charset", ["", "rot13", "zlib", "a\0b", "utf-8\u00e9", "../x", "encodings"]
)
def test_names_that_are_not_known(charset):
    assert not is_known(charset)


def test_links_out_of_a_maildir_are_counted_and_not_followed(tmp_path):
    letter = b"From: a@x.org\n\n"
    outside = tmp_path / "outside"
    for name in ("m/cur", "m/new", "m/.Sent/cur", "m/.In", "outside/cur", "outside/new"):
        (tmp_path / name).mkdir(parents=True)
    (outside / "secret").write_bytes(letter + b"secret")
    (outside / "cur" / "1").write_bytes(letter + b"secret")
    (tmp_path / "m/cur/1").write_bytes(letter + b"mine")
    (tmp_path / "m/cur/2").symlink_to(outside / "secret")
    (tmp_path / "m/cur/3").symlink_to("1")
    (tmp_path / "m/cur/4").symlink_to("../../outside/secret")
    (tmp_path / "m/.Out").symlink_to(outside)
    (tmp_path / "m/.In/cur").symlink_to(outside / "cur")
    (tmp_path / "m/.Sent/cur/1").write_bytes(letter + b"sent")
    (tmp_path / "named").symlink_to(tmp_path / "m")
    mine, away = Row("a@x.org", "mine"), Row(None, None, LINK_OUTSIDE)
    expected = [mine, away, mine, away, away, away, away, Row("a@x.org", "sent")]
    for path in (tmp_path / "m", tmp_path / "named"):
        assert list(read_maildir(path, InputSettings())) == expected
