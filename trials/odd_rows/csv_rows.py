"""CSV: ordinary rows with odd values, and lines that are no rows."""

import csv
import io
import random
from pathlib import Path

from trials.odd_rows.batch import Batch, OddRow
from trials.odd_rows.expected import ASIDE, Document, Expected, of_values
from trials.odd_rows.values import NO_USERS, drawn_name, drawn_text

RAW = (
    (b"only one field", ASIDE),
    (b"one,two,three,four", ASIDE),
    (b",", ASIDE),
    (b",,", ASIDE),
    (b'""', ASIDE),
    (b'7,stray,"quote" here', ASIDE),
    (b'7,"x"y,z', ASIDE),
    (b"7,\xff\xfe,text", ASIDE),
    (b"7,ann,\xc3\x28", ASIDE),
    (b"7,ann,\xed\xa0\x80", ASIDE),
    (b"7, ann , kept as it is ", Document(" ann ", " kept as it is ")),
    (b'7,"a ""quoted"" name","text, with comma"', Document('a "quoted" name', "text, with comma")),
    (b"7,a\"b,it's", Document('a"b', "it's")),
    (b"7,ann,semi;colon\tand tab", Document("ann", "semi;colon\tand tab")),
    (b"7,ann,\xef\xbb\xbfmark", Document("ann", "\ufeffmark")),
    (b'"7","ann","two\nlines"', Document("ann", "two\nlines")),
    (b'"7","ann","two\r\nlines\rthree"', Document("ann", "two\r\nlines\rthree")),
)


def csv_file(draw: random.Random, rows: int) -> Batch:
    """A file with a header, ends of several kinds, and blank lines, which are not rows."""
    end = draw.choice((b"\n", b"\r\n", b"\r"))
    lines = [b"n,user,text"]
    found: list[OddRow] = []
    while len(found) < rows:
        line, expected = _record(draw, len(found))
        lines += [b""] * (draw.random() < 0.1) + [line]
        found.append(OddRow(line[:60].decode("latin-1"), expected))
    mark = b"\xef\xbb\xbf" if draw.random() < 0.3 else b""
    last = draw.choice((b"", end))

    def write(folder: Path) -> Path:
        path = folder / "odd.csv"
        path.write_bytes(mark + end.join(lines) + last)
        return path

    return Batch("csv", found, write)


def _record(draw: random.Random, number: int) -> tuple[bytes, Expected]:
    if draw.random() < 0.3:
        return draw.choice(RAW)
    text = drawn_text(draw, number)
    user = drawn_name(draw, number)
    if draw.random() < 0.1:
        user = draw.choice([str(each) for each in NO_USERS if isinstance(each, str)])
    buffer = io.StringIO()
    quoting = draw.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    csv.writer(buffer, quoting=quoting).writerow([number, user, text])
    return buffer.getvalue().removesuffix("\r\n").encode(), of_values(user, text)
