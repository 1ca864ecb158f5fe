"""A whole report: what is spent outside the model's own arithmetic."""

import shutil
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks import material
from benchmarks.lines import Line, seconds
from leakscope.leakage.pipeline import Resources, audit
from leakscope.leakage.scrutiny.public_surprise import public_answers
from leakscope.leakage.sequences.members import Members
from leakscope.leakage.subject import Subject
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.models.word.model_directory import load_model
from leakscope.models.word.word_model import WordModel
from leakscope.records.artifacts import read_parquet
from leakscope.records.documents import Documents, Scores
from leakscope.records.models.audited_model import CallersNetworkRecord, NetworkShape
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.reporting.pages.report_page import write_page

RECORD = CallersNetworkRecord(architecture=NetworkShape(kind="lstm"))


@dataclass
class Timed:
    """A model that notes how long it takes to answer."""

    model: WordModel
    spent: list[float] = field(default_factory=list)

    @property
    def needs_text(self) -> bool:
        return self.model.needs_text

    def knows(self, ids: np.ndarray) -> np.ndarray | None:
        return self.model.knows(ids)

    def log_probs(self, documents: Documents, wanted: np.ndarray) -> np.ndarray:
        return self.model.log_probs(documents, wanted)

    def score(self, documents: Documents, *, top_k: int, every_probability: bool = False) -> Scores:
        begin = time.perf_counter()
        scores = self.model.score(documents, top_k=top_k, every_probability=every_probability)
        self.spent.append(time.perf_counter() - begin)
        return scores


def lines(words: int = 10_000_000, learned_on: int = 300_000) -> list[Line]:
    on = material.corpus(words)
    plain = material.model("lstm-2x128", material.corpus(learned_on)).reading(on.lexicon)
    timed = Timed(plain)
    subject = Subject("bench", "bench", RECORD, lambda: timed, AnswerIdentity("bench"))
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


def public_lines(words: int = 1_000_000, learned_on: int = 300_000) -> list[Line]:
    """What a public model adds to a report when one document in a hundred holds something unique:
    occurrences of S in that many documents, drawn at random, stand for the unique ones.
    """
    on, small = material.corpus(words), material.corpus(learned_on)
    audited = material.model("lstm-2x128", small).reading(on.lexicon)
    public = material.model_path("gru-160-512", small)
    subject = Subject("bench", "bench", RECORD, lambda: audited, AnswerIdentity("bench"))
    folder = Path(tempfile.mkdtemp(prefix="leakscope-bench-"))
    try:
        whole = seconds(lambda: _report(subject, on, folder / "run", False))
        columns = ["document", "start", "length"]
        found = read_parquet(folder / "run" / "occurrences.parquet", columns)
    finally:
        shutil.rmtree(folder)
    document, start, length = (found[name].to_numpy() for name in columns)
    held = np.unique(document)
    share = max(1, on.manifest.train.documents // 100)
    drawn = np.random.default_rng(0).choice(held, share, replace=False)
    chosen = np.flatnonzero(np.isin(document, drawn))
    nothing = np.zeros(len(document))
    members = Members(
        nothing.astype(np.int32), nothing.astype(np.int32), document, start, length,
        nothing.astype(np.float32), nothing.astype(bool), nothing.astype(bool),
    )  # fmt: skip

    def judge() -> None:
        model = load_model(public).reading(on.lexicon)
        public_answers(model, on.documents(), members, chosen)

    more = seconds(judge)
    detail = f"{more:.1f} s beside {whole:.1f} s, {len(chosen):,} sequences, public model a GRU"
    return [Line("report 1M words: public model / rest", more / whole, 0.15, True, detail=detail)]


def _report(subject: Subject, on, out: Path, reveal: bool) -> None:
    audit(subject, on, out, ReportSettings(reveal=reveal), resources=Resources(threads=2))
    write_page(out)
