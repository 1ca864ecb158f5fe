"""Rows of one file, and the judgement on what `corpus build` makes of them."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from trials.forked import command, forked
from trials.odd_rows.expected import ASIDE, Document, Either, Expected
from trials.outcomes import Outcome, Verdict

GOOD = Document("somebody else", "a plain text of another file")


@dataclass(frozen=True)
class OddRow:
    """A row: what it is called in the results, and what should become of it."""

    name: str
    expected: Expected


@dataclass(frozen=True)
class Batch:
    """Rows that stand in one file or folder."""

    kind: str
    rows: list[OddRow]
    write: Callable[[Path], Path]
    """Writes the file into a folder and returns its path."""
    spaces: bool = True
    """Whether white space comes back as it was; mail and commits are stripped."""
    options: tuple[str, ...] = ()


def judged(batch: Batch, folder: Path) -> list[Outcome]:
    """Build a corpus of the batch and of one good row, and see where each row went."""
    source, good = batch.write(folder), folder / "good.jsonl"
    good.write_text(json.dumps({"user": GOOD.user, "text": GOOD.text}) + "\n")
    out = folder / "corpus"
    ended = forked(
        command("corpus", "build", good, source, "--validation", "0", *batch.options, "--out", out)
    )
    wrong = _wrong_end(ended.code, ended.err, ended.ran)
    if wrong is not None:
        verdict, detail = wrong
        return [Outcome(batch.kind, row.name, verdict, detail) for row in batch.rows]
    return _compared(batch, out)


def _wrong_end(code: int | None, said: str, ran: tuple[str, ...]) -> tuple[Verdict, str] | None:
    last = said.strip().splitlines()[-1:] or [""]
    if code is None:
        return Verdict.HANG, "the build did not end"
    if ran:
        return Verdict.EXECUTED, ", ".join(ran)
    if code < 0 or "Unexpected" in said or "Traceback" in said:
        return Verdict.UNEXPECTED, f"exit code {code}: {last[0]}"
    if code:
        return Verdict.LOST, f"the whole build was refused: {last[0]}"
    return None


def _compared(batch: Batch, corpus: Path) -> list[Outcome]:
    """Each row against the corpus, which is read by pyarrow and json only."""
    manifest = json.loads((corpus / "manifest.json").read_bytes())
    aside = sum(manifest["set_aside"].values())
    found = _documents(corpus, batch.spaces)
    found[_key(GOOD, batch.spaces)] -= 1
    total = sum(found.values())
    outcomes, accepted = [], 0
    for row in batch.rows:
        if isinstance(row.expected, Document):
            key = _key(row.expected, batch.spaces)
            there, found[key] = found[key] > 0, found[key] - 1
            verdict = Verdict.ACCEPTED if there else Verdict.LOST
            detail = "" if there else "no such document in the corpus"
            outcomes.append(Outcome(batch.kind, row.name, verdict, detail))
            accepted += there
        elif row.expected is ASIDE:
            outcomes.append(Outcome(batch.kind, row.name, Verdict.SET_ASIDE))
    open_rows = [row for row in batch.rows if isinstance(row.expected, Either)]
    left = total - accepted
    for number, row in enumerate(open_rows):
        verdict = Verdict.ACCEPTED if number < left else Verdict.SET_ASIDE
        outcomes.append(Outcome(batch.kind, row.name, verdict))
    if total + aside != len(batch.rows):
        detail = f"{len(batch.rows)} rows, {total} documents, {aside} set aside"
        outcomes.append(Outcome(batch.kind, "the whole file", Verdict.LOST, detail))
    elif left > len(open_rows):
        extra = [key for key, times in found.items() if times > 0]
        detail = f"accepted though it should be set aside: {str(extra)[:200]!a}"
        outcomes.append(Outcome(batch.kind, "the whole file", Verdict.LOST, detail))
    return outcomes


def _documents(corpus: Path, spaces: bool) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for shard in sorted((corpus / "shards").glob("*.parquet")):
        table = pq.read_table(shard, columns=["user_key", "text"])
        pairs = zip(table["user_key"].to_pylist(), table["text"].to_pylist(), strict=True)
        found.update(_key(Document(user, text), spaces) for user, text in pairs)
    return found


def _key(document: Document, spaces: bool) -> tuple[str, str]:
    return document.user, document.text if spaces else " ".join(document.text.split())
