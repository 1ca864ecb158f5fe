from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakscope.reporting.svg import run_figures, snapshot_figures, tradeoff_figures
from leakscope.reporting.svg.canvas import HEIGHT, WIDTH, Scale, axis_top

SVG = "{http://www.w3.org/2000/svg}"


def parsed(drawing: str) -> ElementTree.Element:
    root = ElementTree.fromstring(drawing)
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and title.text and desc is not None and desc.text
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert "style" not in {name for node in root.iter() for name in node.attrib}
    return root


def bars(root: ElementTree.Element) -> list[ElementTree.Element]:
    return list(root.iter(f"{SVG}rect"))


def tips(root: ElementTree.Element) -> list[str]:
    return [bar[0].text or "" for bar in bars(root)]


def test_every_length_has_its_bar():
    root = parsed(run_figures.length_histogram({1: 4, 3: 8}))
    assert tips(root) == ["1 words: 4", "2 words: 0", "3 words: 8"]
    heights = [float(bar.get("height", "")) for bar in bars(root)]
    assert heights[2] == pytest.approx(2 * heights[0], abs=0.2) and heights[1] == 0


def test_very_long_sequences_share_the_last_bar():
    root = parsed(run_figures.length_histogram({2: 1, 400: 5, 900: 6}))
    assert len(bars(root)) == run_figures.MOST_LENGTHS
    assert tips(root)[-1] == "31+ words: 11"
    assert "31+" in [node.text for node in root.iter(f"{SVG}text")]


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=60))
def test_the_perplexity_bars_add_up(values):
    root = parsed(run_figures.perplexity_histogram(values))
    assert sum(int(tip.rsplit(" ", 1)[1]) for tip in tips(root)) == len(values)
    for bar in bars(root):
        assert 0 <= float(bar.get("x", "")) <= WIDTH and 0 <= float(bar.get("y", "")) <= HEIGHT


def test_infinite_perplexities_are_left_out():
    root = parsed(run_figures.perplexity_histogram(np.array([1.5, np.inf])))
    assert "each of 1 unique" in (root.find(f"{SVG}desc").text or "")


def test_curves_leave_gaps_for_what_is_unknown():
    interval = [(8.0, 10.0), None]
    root = parsed(snapshot_figures.perplexity_curves([1, 2], [9.0, None], interval, [None, 7.0]))
    assert len(list(root.iter(f"{SVG}circle"))) == 2 + 2


def test_bars_of_later_snapshots_are_stronger():
    root = parsed(snapshot_figures.lengths_by_snapshot(["1", "2", "3"], [{2: 1}, {}, {2: 3, 5: 1}]))
    groups = [node for node in root.iter(f"{SVG}g") if node.get("class") == "snapshot"]
    assert [len(group) for group in groups] == [1, 0, 2]
    strengths = [float(group[0].get("fill-opacity", "")) for group in (groups[0], groups[2])]
    assert strengths[0] < strengths[1] == 1


def test_widths_are_proportional_to_counts_across_snapshots():
    root = parsed(snapshot_figures.perplexities_by_snapshot(["1", "2"], [[2.0], [2.0] * 4]))
    widths = [float(bar.get("width", "")) for bar in bars(root)]
    assert widths[1] == pytest.approx(4 * widths[0], abs=0.3)


def test_a_snapshot_without_sequences_keeps_its_place():
    root = parsed(snapshot_figures.perplexities_by_snapshot(["1", "2"], [[], [2.0]]))
    groups = list(root.iter(f"{SVG}g"))
    assert [len(group) for group in groups] == [0, 2]


def test_names_are_escaped():
    drawing = tradeoff_figures.models_tradeoff([("<b>&", 0.2, 3), ("</svg><script>", 0.3, 0)])
    assert "<b>" not in drawing and "<script>" not in drawing
    assert len(list(parsed(drawing).iter(f"{SVG}circle"))) == 2


@given(st.floats(0, 1e9), st.floats(1e-3, 1e9), st.booleans())
def test_ticks_lie_on_the_axis_and_are_few(low, width, log):
    scale = Scale(low + 1, low + 1 + width, 0, 100, log)
    ticks = scale.ticks()
    assert len(ticks) <= 24
    assert all(-0.2 <= scale(tick) <= 100.2 for tick in ticks)


@given(st.integers(0, 10**9))
def test_the_roof_is_not_below_the_highest_bar(highest):
    assert axis_top(highest) >= highest
