"""Compiled reading of JSON lines against Python's own: what it reads is right, and the rest it
leaves to Python.
"""

import json
import re

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leakscope.corpus.parts.character_classes import character_tables
from leakscope.corpus.parts.json_blocks import json_blocks
from leakscope.corpus.parts.row_kernels import ABSENT, UNSURE, json_lines, measure
from leakscope.corpus.readers import byte_lines
from leakscope.corpus.readers.byte_lines import lines
from leakscope.corpus.readers.jsonl import parsed

NAMES = ("user", "text")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
records = st.dictionaries(st.sampled_from([*NAMES, "id", "ü", '"']), values, max_size=4)
good_lines = st.builds(
    lambda record, plain, ascii: json.dumps(
        record, ensure_ascii=ascii, separators=(",", ":") if plain else None
    ).encode("utf-8", "surrogatepass"),
    records,
    st.booleans(),
    st.booleans(),
)


@st.composite
def spoiled_lines(draw):
    """A good line in which a byte is another, or gone, or one more."""
    line = bytearray(draw(good_lines))
    place = draw(st.integers(0, len(line) - 1))
    line[place : place + draw(st.integers(0, 1))] = draw(st.binary(max_size=1))
    return bytes(line).replace(b"\n", b" ")


def read(block):
    """(line, user, text) of each line that is not blank; False where Python has to read it."""
    names = tuple(np.frombuffer(name.encode(), np.uint8) for name in NAMES)
    most = block.count(b"\n") + 1
    into = np.empty(len(block), np.uint8)
    places, found = np.empty((most, 2, 2), np.int64), np.empty((most, 2), np.int64)
    count = json_lines(np.frombuffer(block, np.uint8), names, into, places, found)
    for number in range(count):
        line = block[slice(*found[number])]
        if places[number, 0, 0] == UNSURE:
            yield line, False, False
        else:
            spans = places[number].tolist()
            yield line, *(None if a == ABSENT else bytes(into[a:b]).decode() for a, b in spans)


@settings(max_examples=400)
@given(st.lists(good_lines | spoiled_lines() | st.sampled_from([b"", b" \r", b"\x0b"]), max_size=6))
@example([b'{"user": "a", "text": "b"}', b'{"user": null}', b"{}"])
def test_what_is_read_is_what_python_reads(drawn):
    block = b"\n".join(drawn)
    found = list(read(block))
    assert [line for line, *_ in found] == [line for line in block.split(b"\n") if line.strip()]
    for line, user, text in found:
        if user is False:
            continue
        record = parsed(line)
        assert isinstance(record, dict)
        assert [user, text] == [record.get(name) for name in NAMES]


def test_plain_lines_need_no_python():
    block = "".join(
        json.dumps({"id": 12, "user": f"ü{n}", "text": 'a "b"\n😀', "old": None, "x": True}) + "\n"
        for n in range(50)
    ).encode()
    assert all(user is not False for _, user, _ in read(block))


def lines_of(block):
    return re.findall(rb"[^\n]*\n|[^\n]+", bytes(block))


@given(
    st.binary(max_size=200),
    st.integers(1, 12),
    st.integers(2, 9),
    st.integers(2, 9),
    st.integers(1, 60),
)
def test_ranges_have_every_line_once(tmp_path_factory, data, size, held, more, step):
    """Whatever the size of blocks and ranges, and also where lines are mapped or too long."""
    most = held + more
    path = tmp_path_factory.mktemp("lines") / "x.jsonl"
    path.write_bytes(data.replace(b"\r", b"\n"))
    before = byte_lines.MAX_RECORD
    try:
        byte_lines.MAX_RECORD = most
        expected = [line if line is None else line.rstrip(b"\n") for line in lines(path)]
        found = []
        for start in range(0, len(data), step):
            stop = min(start + step, len(data))
            for block in json_blocks(path, start, stop, size, most, held):
                alone = isinstance(block, np.ndarray)
                assert block is None or alone == (max(map(len, lines_of(block)), default=0) > held)
                found += (
                    [None] if block is None else [line.rstrip(b"\n") for line in lines_of(block)]
                )
    finally:
        byte_lines.MAX_RECORD = before
    assert found == expected


@given(
    st.lists(
        st.binary(max_size=6)
        | st.text(max_size=6).map(lambda t: t.encode("utf-8", "surrogatepass"))
    )
)
def test_texts_are_measured_as_python_does(given_texts):
    offsets = np.cumsum([0, *map(len, given_texts)]).astype(np.int64)
    data = np.frombuffer(b"".join(given_texts), np.uint8)
    characters, blank = np.zeros(len(given_texts), np.int64), np.zeros(len(given_texts), np.bool_)
    measure(data, offsets, character_tables().classes, characters, blank)
    for place, text in enumerate(given_texts):
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            assert characters[place] == UNSURE
        else:
            assert (characters[place], blank[place]) == (len(decoded), not decoded.strip())
