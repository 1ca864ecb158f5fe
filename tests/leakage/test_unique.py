"""What *unique* means stands in one file: when that changes, everything follows."""

import re

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from leakscope.auditing.block_list_building import unique_sequences
from leakscope.leakage.counts.minimal_windows import minimal_unique
from leakscope.leakage.hardening.actions import suggest
from leakscope.leakage.hardening.hardened_points import harden_run
from leakscope.leakage.pipeline import audit
from leakscope.records import unique
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.reporting.pages.report_page import write_page
from leakscope.reporting.rows.listing import first_sequences, unique_perplexities
from leakscope.reporting.terminal.tables import sequences_table
from scripted import ScriptedModel
from subjects import subject_of

ROWS = [
    ("ann", "code alpha beta"), ("bob", "say gamma delta"), ("cat", "say gamma delta"),
    ("dan", "one two three"), ("eve", "one two three"), ("fay", "one two three"),
]  # fmt: skip
"""One user has alpha beta, two have gamma delta, three have two three."""
SCRIPT = {
    ("code",): {"alpha": 0.9}, ("code", "alpha"): {"beta": 0.9},
    ("say",): {"gamma": 0.9}, ("say", "gamma"): {"delta": 0.9},
    ("one",): {"two": 0.9}, ("one", "two"): {"three": 0.9},
}  # fmt: skip
EXPECTED = {1: ["alpha beta"], 2: ["alpha beta", "gamma delta"]}
OWNERS = {1: ["ann"], 2: ["ann", "bob", "cat"]}


@pytest.mark.parametrize("most", EXPECTED)
def test_tables_hardening_listing_page_terminal_and_lists_follow(
    make_corpus, tmp_path, monkeypatch, most
):
    monkeypatch.setattr(unique, "MOST_USERS", most)
    corpus = make_corpus(ROWS)
    model = ScriptedModel(corpus.lexicon, SCRIPT)
    run = tmp_path / "run"
    metrics = audit(
        subject_of(lambda: model), corpus, run, ReportSettings(reveal=True), page=write_page
    )
    expected = EXPECTED[most]
    assert metrics.unique_sequences == len(expected)
    assert metrics.users_with_unique == len(OWNERS[most])
    users = pq.read_table(run / "users.parquet").to_pylist()
    assert sorted(u["user_key"] for u in users if u["unique_sequences"]) == OWNERS[most]
    (point,) = [p for p in harden_run(run, corpus) if p.threshold is None]
    assert point.unique_sequences == len(expected)
    assert suggest(run).unique_sequences == len(expected)
    rows = first_sequences(run, 10, revealed=True)
    assert sorted(" ".join(row.words) for row in rows if row.unique) == expected
    assert len(unique_perplexities(run, len(expected))) == len(expected)
    words = corpus.lexicon.words
    blocked = [" ".join(words[id] for id in found) for found in unique_sequences(run, corpus)]
    assert sorted(blocked) == expected
    windows = minimal_unique([list(found) for found in unique_sequences(run, corpus)], corpus)
    assert sorted(words[id] for (id,) in windows) == sorted(" ".join(expected).split())
    page = (run / "report.html").read_text()
    assert page.count('<span class="mark one">unique</span>') == len(expected)
    assert page.count('"unique":true') == len(expected)  # what the browser filters by
    console = Console(width=200, record=True)
    console.print(sequences_table(run, 10))
    assert sorted(re.findall("alpha beta|gamma delta|two three", console.export_text())) == expected


def test_the_script_defines_nothing_itself(make_corpus, tmp_path):
    corpus = make_corpus(ROWS)
    model = ScriptedModel(corpus.lexicon, SCRIPT)
    audit(subject_of(lambda: model), corpus, tmp_path / "run", ReportSettings(), page=write_page)
    scripts = re.findall(
        "<script>(.*?)</script>", (tmp_path / "run" / "report.html").read_text(), re.S
    )
    assert scripts and not [text for text in scripts if "users_in_d" in text]
