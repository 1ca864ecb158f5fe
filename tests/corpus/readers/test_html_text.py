"""HTML to text: as the standard parser reads good pages, and quick on the worst."""

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.corpus.readers.html_text import BLOCK_TAGS, SILENT_TAGS, html_text

MANY = 30_000


class Plain(HTMLParser):
    """The obvious way, in quadratic time for broken pages."""

    def __init__(self):
        super().__init__()
        self.parts, self.silent = [], []

    def handle_starttag(self, tag, attrs):
        if tag == "body" and "head" in self.silent:
            self.silent.clear()
        if tag in SILENT_TAGS:
            self.silent.append(tag)
        elif tag in BLOCK_TAGS:
            self.parts.append("\n")

    def handle_endtag(self, tag):
        if tag in self.silent:
            del self.silent[self.silent.index(tag) :]
        elif tag in BLOCK_TAGS and tag != "br":
            self.parts.append("\n")

    def handle_data(self, data):
        if not self.silent:
            self.parts.append(re.sub(r"\s+", " ", data))


def plain(html):
    page = Plain()
    page.feed(html)
    page.close()
    text = re.sub(r"[ \t]*\n[ \t]*", "\n", "".join(page.parts))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


NAMES = ["p", "div", "br", "b", "a", "li", "head", "body", "title", "blockquote", "H1", "o:p"]
ATTRIBUTES = ["", ' href="a>b"', " class='x'", " hidden", " a=b", " style = \"c: 'd'\"", "\n", " "]
PIECES = st.one_of(
    st.text("ab \n\t&;é\u00a0", max_size=5),
    st.sampled_from(["&amp;", "&eacute", "&#233;", "a < b", "<!-- c > d -->", "<!DOCTYPE html>",
                     "<?xml x?>", "<![if x]>", "<style>p > a {}</style>", "<br/>", "<p />",
                     "<script>if (a<b) '<p>'</script>", "<SCRIPT type=x>1</script >"]),
    st.builds("<{}{}>".format, st.sampled_from(NAMES), st.sampled_from(ATTRIBUTES)),
    st.builds("</{}>".format, st.sampled_from(NAMES)),
)  # fmt: skip


@given(st.lists(PIECES, max_size=30))
def test_good_pages_as_the_standard_parser_reads_them(pieces):
    html = "".join(pieces)
    assert html_text(html) == plain(html)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a <b", "a"),
        ('<a href="x>one</a> two', "one two"),
        ("a<!-- b", "a"),
        ("a </ b> c", "a  c"),
        ("a <3 b", "a <3 b"),
        ("<script>a", ""),
        ("a<![CDATA[b]]>", "a"),
        ("<", "<"),
        ("", ""),
    ],
)
def test_broken_pages(html, text):
    assert html_text(html) == text


@pytest.mark.parametrize(
    "html",
    [
        "<a " * MANY,
        "<a" * MANY,
        '<a b="' * MANY,
        "<a b='\">" * MANY,
        "<a = " * MANY,
        "<!--" * MANY,
        "<!-- -" * MANY,
        "<![" * MANY,
        "<?" * MANY,
        "</" * MANY,
        "</a " * MANY,
        "<script>" * MANY,
        "<script></scrip" * MANY,
        "<blockquote>" * MANY + "</title>" * MANY,
        "<blockquote>" * MANY + "<title></title>" * MANY,
        "<b> " * MANY + "x",
        "&nbsp;<i>" * MANY,
        "&" * MANY,
        "&#1" * MANY,
        "<br>" * MANY,
        "<a b=" + " " * MANY + "<a",
        "--" * MANY + "<!--" + "-- " * MANY,
    ],
)
def test_no_page_takes_long(html):
    begin = time.process_time()
    html_text(html)
    assert time.process_time() - begin < 2.0
