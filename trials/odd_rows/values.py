"""Odd users and odd texts, drawn by a seed."""

import random

BLANK = ("", " ", "\n\t \r", "\u00a0\u2003\u3000", "\x1c\x1d\x1e\x1f", "\x0b\x0c\x85\u2028\u2029")
LONG = (
    "x" * 1_000_000,
    "y" * 1_000_001,
    "z " * 100_000,
    "\n" * 5_000 + "end",
    "a" + "\u0301" * 20_000,
    "ab\u0315\u0301 " * 5_000,
    "\U0001f468\u200d" * 3_000,
    "." * 200_000,
    "漢" * 50_000,
    "don't-" * 30_000,
)
ODD = (
    "with\0a NUL",
    "\0",
    "\x01\x02\x07 controls \x1b[2J\x7f",
    "\x1b]0;owned\x07",
    "\u202egnirts drawkcab\u202c",
    "\u2066\u2067\u2068nested\u2069",
    "\u200b",
    "\u200b\u200d\ufeff\u2060",
    "zero\u200bwidth",
    "\ufeffmark first",
    "Z\u0351\u036b\u0343a\u0334\u0325l\u0322g\u0328o\u031b",
    "\u0301\u0302 leading marks",
    "non\ufffe\uffff\U0010ffff characters",
    "private \ue000\U000f0000 use",
    "tags \U000e0041\U000e007f",
    "replacement \ufffd here",
    "a\r\nb\rc\nd",
    "line\u2028separator\u2029paragraph\x85next",
    "=cmd|' /C calc'!A0",
    "'; DROP TABLE users; --",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "{{ 7 * 7 }} ${7*7} %s %n {0}",
    "../../../../etc/passwd",
    "<unk> <s> </s> <pad> [MASK] <|endoftext|>",
    "NaN",
    "null",
    "None",
    "true",
    "-1",
    "1e999",
    "0x41",
    '"quoted", with, commas',
    "it''s \"a\" `test` «x» „y“",
    '{"user": "eve", "text": "inside"}',
    "مرحبا بالعالم שלום",
    "สวัสดีชาวโลก ကမ္ဘာ",
    "한국어 日本語 中文 混ぜ",
    "ﷺ ﷽ ǅ ß ﬁ İı",
    "🏳️‍🌈👩‍👩‍👧‍👦🇦🇶",
    "e\u0301 versus \u00e9",
    "\U00010380 \U0001d11e \U0002a6d6",
)
WRONG_TEXTS = (None, 0, -1, 2.5, float("nan"), True, [], ["a"], {"a": "b"}, 10**40)
LONE = ("\ud800", "half \udfff", "\udc80\udcff", "\ud83d and no more")
USERS = (
    "Ann",
    " ann ",
    "ann\n",
    "ann\0",
    "\u202enna",
    "a\u0301",
    "\u00e1",
    "../../ann",
    "-1",
    "nan",
    "null",
    "🙂",
    "u" * 70_000,
    "<b>ann</b>",
    "ann;rm -rf",
    "'; --",
    "\ufeffann",
    "\u200b",
    "user with\ttab",
)
NUMBERS = (0, 1, -1, -(10**30), 10**30, 10**400, 2**63, 1.0, -0.0, 1.5, 1e22, 1e308, -2.5e-7)
NO_USERS = (None, "", "  ", "\n", "\u3000", float("nan"))
WRONG_USERS = ([], ["ann"], {"name": "ann"}, [[1]], {"a": {"b": [None]}})


def drawn_text(draw: random.Random, number: int) -> str:
    """A text that is one: seldom blank or long, often of random characters."""
    kind = draw.random()
    if kind < 0.08:
        return draw.choice(BLANK)
    if kind < 0.11:
        return draw.choice(LONG)
    if kind < 0.55:
        return f"{draw.choice(ODD)} {number}" if draw.random() < 0.7 else draw.choice(ODD)
    if kind < 0.75:
        return "".join(random_character(draw) for _ in range(draw.randrange(1, 60)))
    return f"an ordinary text, number {number}, well said"


def random_character(draw: random.Random) -> str:
    """Any character but surrogates, those of small numbers more often."""
    point = draw.randrange(draw.choice((0x80, 0x300, 0x3000, 0x110000)))
    return chr(point) if not 0xD800 <= point <= 0xDFFF else "\ufffd"


def drawn_name(draw: random.Random, number: int) -> str:
    """A user that is one."""
    return draw.choice(USERS) if draw.random() < 0.5 else f"user {number % 40}"


def drawn_values(draw: random.Random, number: int) -> tuple[object, object]:
    """(user, text) of a row whose format knows numbers, lists and nulls, as JSON does."""
    user: object = drawn_name(draw, number)
    text: object = drawn_text(draw, number)
    kind = draw.random()
    if kind < 0.2:
        user = draw.choice(NUMBERS)
    elif kind < 0.28:
        user = draw.choice(NO_USERS)
    elif kind < 0.36:
        user = draw.choice(WRONG_USERS)
    elif kind < 0.39:
        user = draw.random() < 0.5
    elif kind < 0.43:
        user = draw.choice(LONE)
    kind = draw.random()
    if kind < 0.12:
        text = draw.choice(WRONG_TEXTS)
    elif kind < 0.18:
        text = draw.choice(LONE)
    return user, text
