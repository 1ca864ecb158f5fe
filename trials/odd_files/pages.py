"""Pages of hostile text: what users wrote, are called, and what models are called, is only text."""

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

from trials.forked import Ended
from trials.material import SIZE
from trials.odd_files.case import Commands, OddFile, Place

ATTACKS = {
    "script": "<script>evil()</script>",
    "closing": "</script><img src=x onerror=evil()>",
    "attribute": '" onmouseover="evil()" x=\'',
    "svg": "</title></style></textarea><svg/onload=evil()>",
    "comment": "--><!--<evil-tag></evil-tag>]]>",
    "link": "<a href=javascript:evil()>x</a><iframe src=//evil></iframe>",
    "template": "{{ 7 * 191 }}{% raw %}${7*191}",
}


def pages() -> list[OddFile]:
    return [
        OddFile("pages", name, _reported(text), _harmless(text)) for name, text in ATTACKS.items()
    ]


def _reported(attack: str) -> Callable[[Place], Commands]:
    def prepare(place: Place) -> Commands:
        source, here = place.folder / "odd.jsonl", place.folder
        rows = [
            {
                "user": f"{attack} {number % 6}",
                "text": f"{attack} my secret {number % 6} is {attack} number {number % 6}",
            }
            for number in range(60)
        ]
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        name = (f"--name={attack}", "--reveal", "--threads", 1)
        return [
            ("corpus", "build", source, "--validation", 0, "--out", here / "c"),
            ("train", here / "c", *SIZE, "--epochs", 6, "--out", here / "m"),
            ("report", here / "m", here / "c", *name, "--out", here / "r"),
            ("compare", here / "r", "--out", here / "compared"),
            ("harden", here / "r", "--corpus", here / "c", "--threads", 1, "--out", here / "h"),
        ]

    return prepare


class Elements(HTMLParser):
    """Every element with its attributes, what scripts say, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append(data)
        self.text += data


def _harmless(attack: str) -> Callable[[Place, list[Ended]], str | None]:
    def check(place: Place, ended: list[Ended]) -> str | None:
        if any(each.code for each in ended):
            return f"a command failed: {[each.last for each in ended]}"
        found = sorted(place.folder.rglob("*.html"))
        if len(found) != 3:
            return f"there are {len(found)} pages"
        shown = _page_problem(found[0], attack)
        for page in found:
            problem = _page_problem(page, attack)
            if problem is not None:
                return f"{page.name}: {problem}"
        return shown

    return check


def _page_problem(page: Path, attack: str) -> str | None:
    text = page.read_text(encoding="utf-8")
    read = Elements(text)
    if page.name == "report.html" and attack not in read.text:
        return "it does not show the text at all"
    if "1337" in read.text and "7 * 191" in attack:
        return "a template was filled in"
    for tag, attributes in read.found:
        if tag in ("iframe", "img", "evil-tag", "object", "embed", "base"):
            return f"it has an element {tag}"
        if any(name.startswith("on") for name in attributes):
            return f"{tag} has a handler"
        if any("javascript:" in str(value).lower() for value in attributes.values()):
            return f"{tag} has an address that runs"
    if any("evil()" in script and "<" in script for script in read.scripts):
        return "a script holds the text as it is"
    return None
