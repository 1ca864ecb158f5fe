"""A whole report: what is spent outside the model's own arithmetic."""

import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import material
from benchmarks.lines import Line, seconds
from leakscope.leakage.audit import ReportSettings, Subject, audit
from leakscope.models.wordlevel import WordModel
from leakscope.records.documents import Documents, Scores
from leakscope.report.page import write_page


@dataclass
class Timed:
    """A model that notes how long it takes to answer."""

    model: WordModel
    spent: list[float] = field(default_factory=list)

    def score(self, documents: Documents, *, top_k: int, every_probability: bool = False) -> Scores:
        begin = time.perf_counter()
        scores = self.model.score(documents, top_k=top_k, every_probability=every_probability)
        self.spent.append(time.perf_counter() - begin)
        return scores


def lines(words: int = 10_000_000, learned_on: int = 300_000) -> list[Line]:
    on = material.corpus(words)
    plain = material.model("lstm-2x128", material.corpus(learned_on)).reading(on.lexicon)
    timed = Timed(plain)
    subject = Subject("bench", "bench", {}, lambda: timed, {})
    found = []
    for reveal in (False, True):
        timed.spent.clear()
        folder = Path(tempfile.mkdtemp(prefix="leakscope-bench-"))
        try:
            whole = seconds(lambda out=folder / "run", r=reveal: _report(subject, on, out, r))
        finally:
            shutil.rmtree(folder)
        rest = whole - sum(timed.spent)
        name = f"report {words // 1_000_000}M words{', revealed' if reveal else ''}: rest / whole"
        detail = f"{rest:.1f} s of {whole:.1f} s"
        found.append(Line(name, rest / whole, 0.10, True, detail=detail))
    return found


def _report(subject: Subject, on, out: Path, reveal: bool) -> None:
    audit(subject, on, out, ReportSettings(reveal=reveal), threads=2)
    write_page(out)
