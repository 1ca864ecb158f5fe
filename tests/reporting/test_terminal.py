import re

import pytest
from rich.console import Console

from leakscope.records.runs.run_manifest import open_run
from leakscope.reporting.comparison.compared_runs import cautions, load_runs
from leakscope.reporting.comparison.compared_table import compare_rows
from leakscope.reporting.facts.values import share
from leakscope.reporting.terminal.tables import compare_table, run_table, sequences_table
from report_runs import sequence


def shown(renderable, width: int = 200) -> str:
    console = Console(width=width, record=True, color_system=None, file=None, quiet=True)
    with console.capture() as capture:
        console.quiet = False
        console.print(renderable)
    return capture.get()


def line(text: str, label: str) -> str:
    (found,) = [line for line in text.splitlines() if line.strip().startswith(label)]
    return found.strip().removeprefix(label).strip()


def test_the_headline_shows_the_metrics(make_run):
    text = shown(run_table(*open_run(make_run(train_perplexity=6.5, train_perplexity_low=6.0,
                                              train_perplexity_high=7.0))))  # fmt: skip
    assert line(text, "Users  ") == "4,321"
    assert line(text, "Correct words") == "32,109 (49.1 % of 65,432 words)"
    assert line(text, "Unique sequences") == "2 (metric 1)"
    assert line(text, "Unique by length") == "2: 1  5: 1"
    assert line(text, "Train perplexity") == "6.50 (95 % interval 6.00 to 7.00)"
    assert line(text, "Near ties") == "7"


def test_a_warning_is_shown_on_its_own_and_beside_others(make_run):
    path = make_run(warnings=("The model knows nothing.",))
    assert "The model knows nothing." in shown(run_table(*open_run(path)))
    assert cautions(load_runs([path])) == ["a model: The model knows nothing."]


def test_what_is_unmeasured_is_a_dash_with_its_reason(make_run):
    text = shown(run_table(*open_run(make_run())))
    assert line(text, "Leakage epsilon") == "– (why leakage_epsilon is null)"
    assert line(text, "Curated sequences") == "– (why curated is null)"
    assert line(text, "Validation perplexity") == "– (why validation_perplexity is null)"


def test_the_comparison_has_the_columns_of_table_2(make_snapshots):
    text = shown(compare_table(compare_rows(load_runs([make_snapshots(2)])), ["Careful."]))
    assert text.startswith("Warning: Careful.")
    assert line(text, "epoch-002").split() == ["50.00", "20.00", "2", "–", "4", "2", "3"]
    assert "– Leakage epsilon: why leakage_epsilon is null" in text


def test_revealed_sequences_are_spelled_and_redacted_ones_are_not(make_run):
    text = shown(sequences_table(make_run("a"), 1))
    assert "the quick zebra sleeps late" in text and "1 more unique sequence in" in text
    redacted = shown(sequences_table(make_run("b", revealed=False), 10))
    assert "▇▇▇▇▇" in redacted and not re.search("zebra|giraffe", redacted)
    assert "thank" not in text + redacted  # unique ones only


def test_no_unique_sequences_is_said(make_run):
    run = make_run(rows=[sequence(0, "thank you", users=2)], users=[], users_with_unique=0)
    assert "no unique sequences" in shown(sequences_table(run, 5))


def test_training_text_cannot_steer_the_terminal_or_use_markup(make_run):
    rows = [sequence(0, "a\x1b[31mb [bold]c[/bold] \u202ed")]
    run = make_run(rows=rows, name="[red]n\x1b[2J")
    text = shown(sequences_table(run, 5)) + shown(run_table(*open_run(run)))
    assert "\x1b" not in text and "\u202e" not in text
    assert "[bold]c[/bold]" in text and "[red]n" in text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 9, "0.0 %"), (1, 9999, "less than 0.1 %"), (9998, 9999, "99.9 %"), (9, 9, "100.0 %"),
     (0, 0, "–"), (1, 8, "12.5 %")],
)  # fmt: skip
def test_shares_round_neither_to_none_nor_to_all(part, whole, text):
    assert share(part, whole) == text


def test_a_least_context_that_was_not_looked_for_is_bounded_by_the_shortest_one(make_run):
    text = shown(sequences_table(make_run(), 5))
    assert "Least context" in text and text.count("≤ 3") == 2
    assert "Ratio" not in text  # no row has one
