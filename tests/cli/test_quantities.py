"""How times and sizes are said."""

import pytest

from leakscope.cli.progress_bars import _LineProgress
from leakscope.cli.quantities import duration, size
from leakscope.engine.time_left import PlannedStage


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3725, "1 h 2 min"), (90_000, "1 d 1 h")],
)
def test_durations(seconds, said):
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [(12, "12 bytes"), (1500, "1.5 kB"), (2_340_000, "2.34 MB"), (7e9, "7 GB"), (5e15, "5,000 TB")],
)
def test_sizes(count, said):
    assert size(int(count)) == said


def test_lines_say_how_long_all_of_it_takes(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    lines = _LineProgress()
    lines.expect([PlannedStage("score", 1.0), PlannedStage("count", 2.0)])
    lines("score", 0, 4, "words")
    now[0] = 10.0
    lines("score", 2, 4, "words")
    lines("count", 1, 1)
    assert capsys.readouterr().err.splitlines() == [
        "score 0/4: words",
        "score 2/4: words, 50 s left in all",
        "count 1/1: 0 s left in all",
    ]
