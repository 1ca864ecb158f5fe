"""What the finders take and miss in the labelled mail, and what the report's tags show of it."""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.labelled_sample import drawn
from benchmarks.labelled_spans import (
    LabelledText,
    Tally,
    reaches,
    read_labels,
    share,
    summed,
    tally,
    texts_of,
)
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build
from leakscope.corpus.personal_data.kinds import KINDS, Finding, find_pii
from leakscope.corpus.words import spans
from leakscope.engine.local_engine import LocalEngine
from leakscope.leakage.scrutiny.personal_data_tags import personal_data
from leakscope.leakage.sequences.distinct import Sequences
from leakscope.leakage.sequences.members import Members
from leakscope.records.errors import LeakscopeError

LABELS = Path(__file__).with_name("personal_data_labels.json")
Labelled = Sequence[tuple[LabelledText, str]]


def labelled_mail(path: Path) -> Labelled:
    """The labels with their texts; raises if they are not those of this file."""
    file = path / "data.parquet" if path.is_dir() else path
    if not file.is_file():
        raise LeakscopeError(f"There is no file {file.name} here; name the folder enron-subset.")
    rows = pq.read_table(file, columns=["text"]).column("text").to_pylist()
    labelled = read_labels(LABELS)
    texts = texts_of(labelled, rows)
    if drawn(rows) != {each.row: each.sample for each in labelled}:
        raise LeakscopeError("The seed draws other rows than the labelled ones; use their file.")
    return list(zip(labelled, texts, strict=True))


def show(mail: Labelled, reveal: bool, region: str | None) -> None:
    for sample in ("plain", "enriched"):
        for half in ("development", "test", None):
            part = [one for one in mail if one[0].sample == sample and half in (one[0].half, None)]
            print(f"\n{sample}, {half or 'both halves'}: {len(part)} messages")
            _table(summed(tally(t, m.labels, find_pii(t, phone_region=region)) for m, t in part))
    _new_values(mail, region)
    _tags(mail, region)
    if reveal:
        _errors([one for one in mail if one[0].half == "development"], region)


def _table(total: dict[str, Tally]) -> None:
    head = ("precision: overlapping", "exact", "recall: overlapping", "exact", "removed")
    print(f"{'kind':<10} {'labels':>6} {'found':>6}", *(f"{each:<22}" for each in head))
    for kind, counts in total.items():
        shares = (
            share(counts.right, counts.found),
            share(counts.exact, counts.found),
            share(counts.reached, counts.labelled),
            share(counts.exact, counts.labelled),
            share(counts.removed, counts.labelled),
        )
        print(
            f"{kind:<10} {counts.labelled:>6} {counts.found:>6}",
            *(f"{each:<22}" for each in shares),
        )


def _new_values(mail: Labelled, region: str | None) -> None:
    """Signatures repeat: what of the test half does the development half not have?"""
    known = {
        (label.kind, text[label.start : label.end].lower())
        for labelled, text in mail
        if labelled.half == "development"
        for label in labelled.labels
    }
    there: dict[tuple[str, str], bool] = {}
    for labelled, text in mail:
        found = find_pii(text, phone_region=region)
        for label in labelled.labels:
            value = (label.kind, text[label.start : label.end].lower())
            if value not in known:
                here = reaches(label, (each for each in found if each.kind == label.kind))
                there[value] = there.get(value, True) and here
    print("\ntest, both samples: distinct values that the development half does not have; recall")
    for kind in sorted({kind for kind, _ in there}):
        hits = [hit for (of, _), hit in there.items() if of == kind]
        print(f"{kind:<10} {len(hits):>6} {share(sum(hits), len(hits))}")


def _tags(mail: Labelled, region: str | None) -> None:
    """A unique sequence that is just the words of a label: does the report tag it as its kind?"""
    tags = tags_of_labels(mail, region)
    print("\nboth samples: sequences of just the words of a label that the report tags; and that")
    print("it would tag if it looked at the words alone, with a space between any two")
    for kind in KINDS:
        rows = [row for row, (label, _, _) in enumerate(_labels(mail)) if label.kind == kind]
        alone = [
            kind in {each.kind for each in find_pii(_joined(text, label), phone_region=region)}
            for label, _, text in _labels(mail)
            if label.kind == kind
        ]
        tagged = share(sum(kind in tags[row] for row in rows), len(rows))
        print(f"{kind:<10} {len(rows):>6} {tagged:<22} {share(sum(alone), len(alone))}")


def _labels(mail: Labelled) -> Iterable[tuple[Finding, int, str]]:
    """(label, number of its message, text) of every label."""
    for number, (labelled, text) in enumerate(mail):
        for label in labelled.labels:
            yield label, number, text


def _joined(text: str, label: Finding) -> str:
    return " ".join(text[slice(*edges)] for edges in _words_in(text, label)[1])


def _words_in(text: str, label: Finding) -> tuple[int, list[tuple[int, int]]]:
    """The place of the label's first word, and the offsets of its words."""
    edges = spans(text)
    inside = [n for n, (a, b) in enumerate(edges) if a < label.end and b > label.start]
    return inside[0], [edges[n] for n in inside]


def tags_of_labels(mail: Labelled, region: str | None = None) -> list[tuple[str, ...]]:
    """What the report's own function tags a sequence of just the words of each label with."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "mail.parquet", Path(folder) / "corpus"
        users = [f"{number:06}" for number in range(len(mail))]
        pq.write_table(pa.table({"user": users, "text": [text for _, text in mail]}), file)
        corpus = build([file], out, settings=BuildSettings(validation=0))
        number_of = {
            text: int(number)
            for documents in corpus.documents(texts=True)
            for number, text in zip(documents.numbers, documents.texts or (), strict=True)
        }
        rows = []
        for row, (label, _, text) in enumerate(_labels(mail)):
            first, inside = _words_in(text, label)
            rows.append((number_of[text], first, len(inside), row))
        numbers, starts, lengths, of = np.array(sorted(rows), dtype=np.int64).T
        members = _filled(Members, documents=numbers, starts=starts, lengths=lengths)
        sequences = _filled(Sequences, of_member=of)
        chosen, engine = np.arange(len(of)), LocalEngine()
        found = personal_data(corpus, members, sequences, chosen, region, engine, Path(folder))
    return [found.get(row, ()) for row in range(len(rows))]


def _filled(record: type, **columns: np.ndarray):
    """A record with these columns; the tags read no others."""
    return record(**{each.name: columns.get(each.name, np.zeros(0)) for each in fields(record)})


def _errors(mail: Labelled, region: str | None) -> None:
    for labelled, text in mail:
        findings = find_pii(text, phone_region=region)
        wrong = set(findings) - set(labelled.labels)
        missed = set(labelled.labels) - set(findings)
        for each in sorted(wrong | missed):
            others = labelled.labels if each in wrong else findings
            near = reaches(each, (other for other in others if other.kind == each.kind))
            word = "taken" if each in wrong else "label"
            print(f"row {labelled.row} {word} {'cut ' if near else 'whole'} {each.kind}:", end=" ")
            print(repr(text[each.start : each.end]), "after", repr(text[: each.start][-20:]))
