"""Git: commits as raw objects, which git itself would not write."""

import random
import re
import subprocess
from pathlib import Path

from trials.odd_rows.batch import Batch, OddRow
from trials.odd_rows.expected import ASIDE, EITHER, Document, Expected, of_values
from trials.odd_rows.values import drawn_text

TREE = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n"
DATE = b" 1577836800 +0000\n"
PEOPLE: tuple[tuple[bytes, str | None], ...] = (
    (b"Ann <ann@x.org>", "ann@x.org"),
    (b"Ann Lee <Ann@X.org>", "Ann@X.org"),
    (b"Ann <>", "Ann"),
    ("Änn <änn@x.org>".encode(), "änn@x.org"),
    (b"<only@x.org>", "only@x.org"),
    (b" < >", None),
    (b"<>", None),
    (b"nobody at all", None),
    (b"\xff\xfe <\xff@x.org>", None),
    (b"A\x1b[2J <esc\x1b@x.org>", "esc\x1b@x.org"),
    ("e <\u202eevil@x.org>".encode(), "\u202eevil@x.org"),
    (b"A <../../x@x.org>", "../../x@x.org"),
)
TRAILER = re.compile(r"(?m)^(?:[A-Z][A-Za-z]*(?:-[A-Za-z]+)+|Cc|CC|Fixes|Closes|Link|Bug):\s")


def commits(draw: random.Random, rows: int) -> Batch:
    """A bare repository with a chain of odd commits."""
    made = [_commit(draw, place) for place in range(rows)]

    def write(folder: Path) -> Path:
        path = folder / "odd.git"
        subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True)
        hash_object = ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"]
        subprocess.run(["git", "write-tree"], cwd=path, check=True, capture_output=True)
        parent = b""
        for head, message, _ in made:
            raw = TREE + parent + head + b"\n" + message
            done = subprocess.run(hash_object, cwd=path, input=raw, capture_output=True, check=True)
            parent = b"parent " + done.stdout.strip() + b"\n"
        (path / "HEAD").write_bytes(parent.removeprefix(b"parent "))
        return path

    found = [OddRow(message[:50].decode("latin-1"), row) for _, message, row in made]
    return Batch("git", found, write, spaces=False)


def _commit(draw: random.Random, place: int) -> tuple[bytes, bytes, Expected]:
    """(header lines, message, what should become of it)."""
    person, user = draw.choice(PEOPLE)
    text = drawn_text(draw, place)
    author, committer = b"author " + person + DATE, b"committer C <c@x.org>" + DATE
    kind = draw.random()
    if kind < 0.08:
        return author + committer, draw.choice((b"\xff\xfe", b"\xc3\x28", b"ok \x80")), ASIDE
    if kind < 0.14:
        latin = author + committer + b"encoding ISO-8859-1\n"
        plain = user if user and user.isascii() else None
        if user is not None and plain is None:
            return latin, b"caf\xe9", EITHER
        if person.startswith(b"\xff"):
            return latin, b"caf\xe9", EITHER
        return latin, b"caf\xe9", of_values(plain, "café")
    if kind < 0.2:
        named = draw.choice((b"punycode", b"no-such", b"", b"x" * 500, b"utf-16"))
        expected = EITHER if user else ASIDE
        return author + committer + b"encoding " + named + b"\n", text.encode(), expected
    if kind < 0.25:
        return committer, text.encode(), ASIDE  # no author
    if kind < 0.3:
        expected = EITHER if user else ASIDE
        return author + author.replace(b"x.org", b"y.org") + committer, text.encode(), expected
    shown = text.split("\0")[0]  # as git itself shows it
    expected = of_values(user, shown)
    if isinstance(expected, Document) and TRAILER.search(shown):
        expected = EITHER
    if len(text) > len(shown) and isinstance(expected, Document) and not shown.strip():
        expected = ASIDE
    return author + committer, text.encode(), expected
