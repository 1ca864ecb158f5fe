"""Odd files at URLs: those of other groups on a real server, and whatever an evil server says."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from trials.forked import Ended
from trials.odd_files.case import Commands, OddFile, Place
from trials.odd_files.evil_store import CHANGE, LIES, OF_OBJECTS
from trials.odd_files.our_artifacts import unsealed

NAMES = {
    "a name that leads out": "../../../../../../../../../../../..{outside}",
    "a name that leads out from a folder": "shards/../../../../../../../../../../..{outside}",
    "a name that begins at the root": "/{outside}",
    "a name with dots": "./odd",
    "a name that ends in dots": "shards/..",
    "a name with a line break": "odd\nname",
    "a name with colours": "\x7fodd[2J",
    "a name with a backslash": "..\\..\\odd",
    "a name of 300 letters": "o" * 300,
    "a name of 900 letters in folders": "o/" * 450 + "o",
    "a file below a file": "manifest.json/odd",
    "a mark of ours": ".leakscope",
    "a half-written file of ours": ".odd.77-0badc0de.leakscope",
    "a name that is empty": "",
}
SEALS = {
    "a seal with a name that leads out": "0" * 32 + "  ../../../../../../etc/passwd\n",
    "a seal with a name at the root": "0" * 32 + "  /etc/passwd\n",
    "a seal of noise": "\0\1\2",
    "a seal of a million lines": ("0" * 32 + "  odd\n") * 1_000_000,
}


def remote(others: list[OddFile]) -> list[OddFile]:
    """The same files as objects, and objects that no honest server has."""
    return [
        *(_at_urls(each) for each in others),
        *(OddFile("evil server", f"a corpus: {lie}", _lied(lie), _whole) for lie in LIES),
        *(OddFile("evil server", f"rows: {lie}", _rows(lie), _same_rows) for lie in OF_OBJECTS),
        *(OddFile("evil server", f"a corpus with {name}", _named(key), _nothing_outside)
          for name, key in NAMES.items()),
        *(OddFile("evil server", f"a corpus with {name}", _sealed(text), _nothing_outside)
          for name, text in SEALS.items()),
    ]  # fmt: skip


def _at_urls(odd: OddFile) -> OddFile:
    def prepare(place: Place) -> Commands:
        return [place.served.urls(each) for each in odd.prepare(place)]

    return replace(odd, kind=f"{odd.kind} on s3", prepare=prepare)


@contextmanager
def evil_server(orders: Path) -> Iterator[str]:
    """An evil server that obeys the orders in a file; its address."""
    words = [sys.executable, "-m", "trials.odd_files.evil_store", str(orders)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


def _order(place: Place, folder: Path, lie: str = "none", add: tuple[str, ...] = ()) -> None:
    told = {"folder": str(folder), "lie": lie, "add": add, "marker": str(place.marker)}
    place.orders.write_text(json.dumps(told))


def _reading(place: Place) -> Commands:
    """Commands that read a corpus of the evil server, and write here."""
    train = ("train", "s3://bucket/it", *place.made.train()[2:], "--out", place.folder / "trained")
    return [_evil(place, "corpus", "info", "s3://bucket/it", "--json"), _evil(place, *train)]


def _evil(place: Place, *arguments: object) -> tuple[object, ...]:
    """A command that goes to the evil server."""
    return (place.evil, *arguments)


def _lied(lie: str) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        _order(place, place.made.corpus, lie)
        return _reading(place)

    return prepare


def _whole(place: Place, ended: list[Ended]) -> str | None:
    """Whoever gives an answer gives the right one; where nobody lies, there is one."""
    if json.loads(place.orders.read_text())["lie"] == "none" and ended[0].code != 0:
        return f"an honest corpus is refused: {ended[0].last}"
    told = [each.out for each in ended[:1] if each.code == 0]
    honest = json.loads((place.made.corpus / "manifest.json").read_text())["digest"]
    return None if all(honest in each for each in told) else "another corpus was read"


def _rows(lie: str) -> Callable[[Place], Commands]:
    """Raw text has no seal; what is read must be one of the things that the server has sent."""

    def prepare(place: Place) -> Commands:
        folder = place.folder / "rows"
        folder.mkdir()
        text = "".join(json.dumps({"user": f"u{n}", "text": f"word{n} x"}) + "\n" for n in range(9))
        (folder / "odd.jsonl").write_text(text)
        _order(place, folder, lie)
        out = ("--validation", 0, "--out", place.folder / "built")
        return [_evil(place, "corpus", "build", "s3://bucket/it/odd.jsonl", *out)]

    return prepare


def _same_rows(place: Place, ended: list[Ended]) -> str | None:
    """All of one of the things that the server has had there, and every row is accounted for."""
    if ended[0].code != 0:
        honest = json.loads(place.orders.read_text())["lie"] == "none"
        return "honest rows are refused" if honest else None
    data = (place.folder / "rows" / "odd.jsonl").read_bytes()
    (copy,) = place.served.cache.rglob("odd.jsonl")
    if copy.read_bytes() not in (data, data[:-CHANGE], data + data[-CHANGE:]):
        return "what was read was never there"
    manifest = json.loads((place.folder / "built" / "manifest.json").read_text())
    found = manifest["train"]["documents"] + sum(manifest["set_aside"].values())
    return None if found in (9, 10) else f"{found} of 9 rows are accounted for"


def _named(key: str) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        _order(place, place.made.corpus, add=(key.format(outside=place.marker),))
        return _reading(place)

    return prepare


def _sealed(text: str) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        folder = place.folder / "received"
        shutil.copytree(place.made.corpus, folder)
        unsealed(folder)
        (folder / "seal.txt").write_text(text)
        _order(place, folder)
        return _reading(place)

    return prepare


def _nothing_outside(place: Place, ended: list[Ended]) -> str | None:
    """Nothing that a terminal would obey, and nothing but the mirror's files in the cache."""
    if any("\x1b" in each.out + each.err or "\x7f" in each.out + each.err for each in ended):
        return "control characters were printed"
    strange = [path.name for path in place.served.cache.iterdir() if path.name != "remote"]
    return f"{strange} in the cache" if strange else None
