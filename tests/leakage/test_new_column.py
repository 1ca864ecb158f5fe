"""A column shown everywhere is a change of two files: the registry, and where it is computed."""

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from leakscope.leakage.pipeline import audit
from leakscope.leakage.run_tables.sequence_table import SequenceRows
from leakscope.records.columns import EVERYWHERE, Column, Display
from leakscope.records.runs import sequence_columns
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.reporting.pages.report_page import write_page
from leakscope.reporting.terminal import tables
from scripted import ScriptedModel
from subjects import subject_of

TOY = Column(
    "letters",
    pa.int32(),
    "ten times its words",
    display=Display("Toy letters", "count", EVERYWHERE, hint="a toy", rising=True),
)


def test_a_toy_column_reaches_file_page_browser_and_terminal(make_corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(sequence_columns, "COLUMNS", (*sequence_columns.COLUMNS, TOY))
    computed = SequenceRows.columns

    def with_letters(self, words):
        found = computed(self, words)
        return found | {"letters": (1000 * found["length"]).astype("int32")}

    monkeypatch.setattr(SequenceRows, "columns", with_letters)
    corpus = make_corpus([("ann", "code alpha beta"), ("bob", "code alpha")])
    script = {("code",): {"alpha": 0.9}, ("code", "alpha"): {"beta": 0.9}}
    model, run = ScriptedModel(corpus.lexicon, script), tmp_path / "run"
    audit(subject_of(lambda: model), corpus, run, ReportSettings(reveal=True), page=write_page)

    assert pq.read_table(run / "sequences.parquet")["letters"].to_pylist() == [2000, 1000]
    page = (run / "report.html").read_text()
    assert '<th scope="col" data-key="letters" data-first="ascending">' in page
    assert page.count("<td>2,000</td>") == 2  # in the table, and among the easiest to draw out
    keys = json.loads(re.search('id="keys">(.*?)</script>', page)[1])
    assert [row["letters"] for row in keys] == [2000, 1000]
    console = Console(width=200, record=True)
    console.print(tables.sequences_table(run, 5))
    text = console.export_text()
    assert "Toy letters" in text and "2,000" in text
