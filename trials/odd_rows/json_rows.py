"""JSON Lines and Reddit dumps."""

import json
import random
from pathlib import Path

from trials.odd_rows.batch import Batch, OddRow
from trials.odd_rows.expected import ASIDE, Document, Expected, of_values
from trials.odd_rows.values import ODD, drawn_values

NO_ROWS = (b"", b"   ", b"\t")  # blank lines are not rows
BROKEN = (
    b'{"user": "a", "text": "cut',
    b'{"user": "a", "text": "x"} trailing',
    b'{"user": "a" "text": "x"}',
    b"{'user': 'a', 'text': 'x'}",
    b"[1, 2, 3]",
    b"null",
    b'"just a string"',
    b"12",
    b"{}",
    b'{"user": "a"}',
    b'{"text": "x"}',
    b'{"USER": "a", "TEXT": "x"}',
    b"\xff\xfe{\x00}\x00",
    b'{"user": "a", "text": "\xff\xfe"}',
    b'{"user": "\xc3\x28", "text": "x"}',
    b'{"user": "a", "text": "\xed\xa0\x80"}',
    b'\xef\xbb\xbf{"user": "a", "text": "mark in the middle"}',
    b'{"user": "a", "text": "\x01"}',
    b'{"user": "a", "text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"user": ' + b"9" * 5_000 + b', "text": "x"}',
    b'{"user": "a", "text": ' + b"1" * 5_000 + b"}",
    b"\0\0\0\0",
    b"\x1f\x8b\x08 not gzip",
)
WHOLE = (
    (b'{"user": "a", "user": "b", "text": "the last counts"}', Document("b", "the last counts")),
    (b'{"user":"a","text":"x","text":null}', ASIDE),
    (b'{"user": NaN, "text": "x"}', ASIDE),
    (b'{"user": -Infinity, "text": "x"}', Document("-inf", "x")),
    (b'  {"user": "a", "text": "indented"}\t', Document("a", "indented")),
    (b'{"user": "a", "text": "\\u0000"}', Document("a", "\0")),
    (b'{"user": "a", "text": "\\ud83d\\ude42"}', Document("a", "🙂")),
    (b'{"user": "a", "text": "x", "more": {"deep": [1, {"user": "c"}]}}', Document("a", "x")),
)


def jsonl(draw: random.Random, rows: int) -> Batch:
    """A file of lines, with and without a byte order mark and ends of several kinds."""
    found: list[OddRow] = []
    lines: list[bytes] = [b'{"user": "first", "text": "has both keys"}']
    found.append(OddRow("first", Document("first", "has both keys")))
    while len(found) < rows:
        line, expected = _line(draw, len(found))
        lines += [draw.choice(NO_ROWS)] * (draw.random() < 0.1)
        lines.append(line)
        found.append(OddRow(line[:60].decode("latin-1"), expected))
    return Batch("jsonl", found, _writer("odd.jsonl", draw, lines))


def _line(draw: random.Random, number: int) -> tuple[bytes, Expected]:
    kind = draw.random()
    if kind < 0.25:
        return draw.choice(BROKEN), ASIDE
    if kind < 0.35:
        return draw.choice(WHOLE)
    user, text = drawn_values(draw, number)
    return dumped({"user": user, "text": text}, draw), of_values(user, text)


def reddit(draw: random.Random, rows: int) -> Batch:
    """Comments and submissions."""
    found = [OddRow("first", Document("first", "a comment"))]
    lines = [b'{"author": "first", "body": "a comment"}']
    while len(found) < rows:
        line, expected = _post(draw, len(found))
        lines.append(line)
        found.append(OddRow(line[:60].decode("latin-1"), expected))
    return Batch("reddit", found, _writer("RC_2020-01", draw, lines))


def _post(draw: random.Random, number: int) -> tuple[bytes, Expected]:
    kind = draw.random()
    if kind < 0.2:
        return draw.choice(BROKEN).replace(b'"user"', b'"author"').replace(
            b'"text"', b'"body"'
        ), ASIDE
    author, text = drawn_values(draw, number)
    if kind < 0.3:
        author = draw.choice(("[deleted]", "[removed]"))
    elif kind < 0.4:
        text = draw.choice(("[deleted]", "[removed]"))
    gone = author in ("[deleted]", "[removed]") or text in ("[deleted]", "[removed]")
    if kind < 0.7:
        return dumped({"author": author, "body": text}, draw), (
            ASIDE if gone else of_values(author, text)
        )
    title = draw.choice((f"title {number}", draw.choice(ODD), None, 3, ""))
    whole: object = None
    if isinstance(title, str) and (text is None or isinstance(text, str)):
        whole = f"{title}\n{text}" if text else title
    line = dumped({"author": author, "title": title, "selftext": text}, draw)
    return line, ASIDE if gone else of_values(author, whole)


def dumped(record: dict[str, object], draw: random.Random) -> bytes:
    """JSON, in ASCII or not where its strings can be written at all."""
    plain = json.dumps(record)
    if draw.random() < 0.5:
        try:
            return json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            pass
    return plain.encode()


def _writer(name: str, draw: random.Random, lines: list[bytes]):
    mark = b"\xef\xbb\xbf" if draw.random() < 0.3 else b""
    end = draw.choice((b"\n", b"\r\n"))
    last = draw.choice((b"", end))

    def write(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(mark + end.join(lines) + last)
        return path

    return write
