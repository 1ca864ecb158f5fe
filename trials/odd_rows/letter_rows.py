"""Mail: mbox files and maildir folders of odd letters."""

import base64
import quopri
import random
import re
from pathlib import Path

from trials.odd_rows.batch import Batch, OddRow
from trials.odd_rows.expected import ASIDE, EITHER, Document, Expected, is_unicode, of_values
from trials.odd_rows.values import drawn_text

NO_REPLY = re.compile(r"(?m)^\s*(?:[A-Z][A-Za-z]{0,3})?>|^--\s*$|^_{20,}|:$")
"""What a reader may take for a quote, a signature or an attribution."""
ADDRESSES = (
    ("ann@x.org", "ann@x.org"),
    ("Ann Lee <ANN@X.ORG>", "ann@x.org"),
    ('"Lee, Ann" <ann@x.org>', "ann@x.org"),
    ("=?utf-8?q?L=2C_=C3=84nn?= <ann@x.org>", "ann@x.org"),
    ("ann at x.org (Ann)", "ann@x.org"),
    ("ann@x.org, bob@x.org", "ann@x.org"),
    (" \t ann@x.org", "ann@x.org"),
    ("nobody", None),
    ("", None),
    ("=?unknown?q?x?=", None),
    ("<>", None),
)
BROKEN = (
    b"",
    b"no header at all",
    b"From: ann@x.org\n",
    b"From: ann@x.org\n\n",
    b"From: ann@x.org\n\n \n\t\n",
    b"From: ann@x.org\n\n> only\n> quotes\n",
    b"From: ann@x.org\n\n-- \nonly a signature\n",
    b"Subject: nobody wrote this\n\ntext\n",
    b"From: ann@x.org\nContent-Type: text/plain; charset=utf-8\n\n\xff\xfe\xfd\n",
    b"From: ann@x.org\nContent-Type: text/plain; charset=utf-16\n"
    b"Content-Transfer-Encoding: base64\n\nAQ==\n",
    b"From: ann@x.org\nContent-Type: image/png\n\nabc\n",
    b"From: ann@x.org\nContent-Type: multipart/mixed; boundary=x\n\n--x--\n",
    b"From: ann@x.org\nContent-Disposition: attachment\n\nabc\n",
    b"From: " + b"a," * 20_000 + b"ann@x.org\n\nabc\n",
    b"From: ann@x.org\nContent-Type: " + b"x;" * 10_000 + b"\n\nabc\n",
    b"From: " + b"\xff" * 50 + b"@x.org\n\nabc\n",
)
GUESSED = (
    ("punycode", "abc-def"),
    ("unicode_escape", r"\ud800"),
    ("no-such", "abc"),
)
"""Charsets that are none of ours, and texts whose bytes say all the same what they are."""


def mbox(draw: random.Random, rows: int) -> Batch:
    """An mbox file, with lines that begin with From escaped."""
    found, letters = _letters(draw, rows)

    def write(folder: Path) -> Path:
        path = folder / "odd.mbox"
        with path.open("wb") as file:
            for letter in letters:
                body = re.sub(rb"(?m)^(>*From )", rb">\1", letter)
                file.write(b"From MAILER-DAEMON Thu Jan  1 00:00:00 1970\n" + body + b"\n\n")
        return path

    return Batch("mbox", found, write, spaces=False)


def maildir(draw: random.Random, rows: int) -> Batch:
    """A maildir; hidden files and the folder tmp hold no letters."""
    found, letters = _letters(draw, rows)

    def write(folder: Path) -> Path:
        path = folder / "odd"
        for part in ("cur", "new", "tmp", ".sub/cur", ".sub/new"):
            (path / part).mkdir(parents=True)
        (path / "tmp" / "half").write_bytes(b"From: ann@x.org\n\nnot delivered\n")
        (path / "cur" / ".hidden").write_bytes(b"From: ann@x.org\n\nhidden\n")
        for place, letter in enumerate(letters):
            part = ("cur", "new", ".sub/cur", ".sub/new")[place % 4]
            (path / part / f"{place:05d}.host:2,S").write_bytes(letter)
        return path

    return Batch("maildir", found, write, spaces=False)


def _letters(draw: random.Random, rows: int) -> tuple[list[OddRow], list[bytes]]:
    found, letters = [], []
    for place in range(rows):
        letter, expected = _letter(draw, place)
        letters.append(letter)
        found.append(OddRow(f"{place}: {letter[:50].decode('latin-1')}", expected))
    return found, letters


def _letter(draw: random.Random, place: int) -> tuple[bytes, Expected]:
    if draw.random() < 0.25:
        chosen = draw.randrange(len(BROKEN) + len(GUESSED))
        if chosen < len(BROKEN):
            return BROKEN[chosen], ASIDE
        charset, text = GUESSED[chosen - len(BROKEN)]
        letter = f"From: ann@x.org\nContent-Type: text/plain; charset={charset}\n\n{text}\n"
        return letter.encode(), Document("ann@x.org", text)
    header, user = draw.choice(ADDRESSES)
    text = drawn_text(draw, place)
    style = draw.choice(("8bit", "base64", "quoted", "latin", "wide", "parts", "html", "crlf"))
    expected = of_values(user, text)
    if user is not None and NO_REPLY.search(text):
        expected = EITHER
    if style == "html" and isinstance(expected, Document):
        return _html(header, place), Document(expected.user, f"a bold text {place} & more")
    if style == "latin" and isinstance(expected, Document):
        expected = Document(expected.user, "naïve café")
        return (
            f"From: {header}\nContent-Type: text/plain; charset=iso-8859-1\n\nnaïve café\n".encode(
                "latin-1"
            ),
            expected,
        )
    assert is_unicode(text)
    return f"From: {header}\n".encode() + _body(style, text), expected


def _html(header: str, place: int) -> bytes:
    kind = b"Content-Type: text/html; charset=utf-8\n\n"
    page = f"<p>a <b>bold</b> text {place} &amp; more<style>p {{}}</style><script>x()</script></p>"
    return f"From: {header}\n".encode() + kind + page.encode() + b"\n"


def _body(style: str, text: str) -> bytes:
    data = text.encode()
    plain = b"Content-Type: text/plain; charset=utf-8\n"
    if style == "base64":
        return plain + b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(data)
    if style == "quoted":
        coded = quopri.encodestring(data.replace(b"\r", b"\n"))
        return plain + b"Content-Transfer-Encoding: quoted-printable\n\n" + coded
    if style == "wide":
        wide = base64.encodebytes(text.encode("utf-16"))
        kind = b"Content-Type: text/plain; charset=utf-16\nContent-Transfer-Encoding: base64\n\n"
        return kind + wide
    if style == "parts":
        coded = base64.encodebytes(data)
        return (
            b"Content-Type: multipart/alternative; boundary=qq\n\n--qq\n"
            + plain
            + b"Content-Transfer-Encoding: base64\n\n"
            + coded
            + b"\n--qq\nContent-Type: text/html\n\n<p>other</p>\n--qq--\n"
        )
    end = b"\r\n" if style == "crlf" else b"\n"
    head = plain + b"Content-Transfer-Encoding: 8bit\n\n"
    return head + data.replace(b"\r\n", b"\n").replace(b"\n", end) + end
