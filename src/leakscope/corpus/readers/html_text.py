"""HTML to text in time that grows with its length only, whatever the HTML.

The standard library's parser reads to the end of the page for each tag that is never closed.
"""

import re
from html import unescape

SILENT_TAGS = {"script", "style", "head", "title", "blockquote"}
BLOCK_TAGS = {"p", "div", "br", "tr", "li", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "table"}
_NAME = re.compile(r"<(/?)([a-zA-Z][^\t\n\r\f />\x00]*)")
_IN_TAG = re.compile(r""">|=\s*+(["'])""")
_COMMENT_END = re.compile(r"--!?\s*+>")
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in ("script", "style")}
"""The ends of tags whose content is not HTML."""


def html_text(html: str) -> str:
    """Return the text of an HTML page: no tags, scripts or block quotes; blocks end in newlines."""
    lines = "".join(_Page(html).parts()).split("\n")
    text = "\n".join(line.strip(" \t") for line in lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


class _Page:
    """One pass over a page. What a search did not find once, it is not asked for again."""

    def __init__(self, html: str) -> None:
        self._html = html
        self._silent: list[str] = []
        self._first: dict[str, int] = {}  # where each silent tag was opened first
        self._unquoted: set[str] = set()  # quotes that do not occur any more

    def parts(self) -> list[str]:
        """Return the text between tags and the line ends that tags make."""
        html, place, found = self._html, 0, []
        while place < len(html):
            opened = html.find("<", place)
            text_end = len(html) if opened < 0 else opened
            if not self._silent and text_end > place:
                found.append(re.sub(r"\s+", " ", unescape(html[place:text_end])))
            if opened < 0:
                break
            place, breaks = self._markup(opened)
            found.extend(breaks)
        return found

    def _markup(self, place: int) -> tuple[int, list[str]]:
        """Return where what begins with "<" ends, and what stands for it in the text."""
        html = self._html
        name = _NAME.match(html, place)
        if name is not None:
            end = self._tag_end(name.end())
            if end == len(html) and not html.endswith(">"):
                return end, []  # never closed
            return self._tag(name[2].lower(), bool(name[1]), end)
        if html.startswith("<!--", place):
            closed = _COMMENT_END.search(html, place + 4)
            return (len(html) if closed is None else closed.end()), []
        if html.startswith(("<!", "<?", "</"), place):
            return html.find(">", place) + 1 or len(html), []
        return place + 1, [] if self._silent else ["<"]

    def _tag_end(self, place: int) -> int:
        """Return the place behind the ">" of a tag, which may stand in a quoted value before."""
        while mark := _IN_TAG.search(self._html, place):
            quote, place = mark[1], mark.end()
            if quote is None:
                return place
            if quote not in self._unquoted:
                closed = self._html.find(quote, place)
                if closed < 0:
                    self._unquoted.add(quote)
                else:
                    place = closed + 1
        return len(self._html)

    def _tag(self, tag: str, closes: bool, end: int) -> tuple[int, list[str]]:
        empty = self._html.startswith("/>", end - 2)
        breaks = [] if closes else self._open(tag)
        if closes or empty:
            return end, [*breaks, *self._close(tag)]
        if tag in _RAW_END:
            closed = _RAW_END[tag].search(self._html, end)
            end = len(self._html) if closed is None else closed.start()
        return end, breaks

    def _open(self, tag: str) -> list[str]:
        """Enter a silent tag, or start a line."""
        if tag == "body" and "head" in self._first:  # the end of the head may be left out
            self._cut(0)
        if tag in SILENT_TAGS:
            self._first.setdefault(tag, len(self._silent))
            self._silent.append(tag)
        elif tag in BLOCK_TAGS:
            return ["\n"]
        return []

    def _close(self, tag: str) -> list[str]:
        """Leave a silent tag and all within it, or end a line."""
        if tag in self._first:
            self._cut(self._first[tag])
        elif tag in BLOCK_TAGS and tag != "br":
            return ["\n"]
        return []

    def _cut(self, size: int) -> None:
        del self._silent[size:]
        self._first = {tag: at for tag, at in self._first.items() if at < size}
