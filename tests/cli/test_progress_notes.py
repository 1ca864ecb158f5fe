"""Warnings stay visible, on a terminal and elsewhere, also those of a part of the work."""

import io

import pytest

from leakscope.cli import progress_bars
from leakscope.cli.progress_bars import shown

NOTE = "damaged, made again: score-[1].parquet in run[x]/.work"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stage", ["warning", "epoch-001 warning"])
@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_a_warning_is_shown_as_it_is(monkeypatch, stage, kind):
    seen = kind()
    monkeypatch.setattr(progress_bars.sys, "stderr", seen)
    monkeypatch.setenv("COLUMNS", "200")
    with shown() as progress:
        for number in (1, 2):
            progress(stage, number, 2, NOTE)
            progress("score", number, 2)
    assert seen.getvalue().count(NOTE) == 2
