"""What is said of one person: the record of `person.json`, its summary and the cards of a page."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakscope.records.columns import Column, Display
from leakscope.records.runs import user_columns
from leakscope.records.runs.person_columns import person_columns
from leakscope.records.runs.person_record import PersonRecord, Standing
from leakscope.records.runs.run_manifest import digests_of_run, open_run
from leakscope.reporting.facts import values
from leakscope.reporting.facts.fact import Fact
from leakscope.reporting.facts.interface_facts import through
from leakscope.reporting.person.person_rows import PersonRows, person_rows
from leakscope.reporting.rows import cells

REASONS: dict[Standing, str] = {
    "not audited": "the report was about other users",
    "not trained on": "the user has no training documents",
}
_MEASURED = (
    "occurrences", "unlisted_occurrences", "unique_sequences", "predicted_words",
    "predicted_share", "unique_words", "unique_share", "figures",
)  # fmt: skip
"""What is null of a user whom the model was not asked about."""


@dataclass(frozen=True)
class NamedPerson:
    """A user, and where they stand."""

    number: int
    key: str | None
    standing: Standing
    documents: int = 0
    words: int = 0
    """In D, where the run itself does not have them: of a user who was not audited."""


def person_record(run: Path, person: NamedPerson) -> PersonRecord:
    """All of `person.json`."""
    manifest, metrics = open_run(run)
    found = person_rows(run, manifest, person.number) if person.standing == "audited" else None
    measured: dict[str, Any] = dict.fromkeys(_MEASURED)
    documents, words = person.documents, person.words
    if found is not None:
        documents, words = int(found.user["documents"]), int(found.user["words"])
        measured = _measured(found, words)
    reasons = {
        name: REASONS.get(person.standing, "the user's documents have no words")
        for name in _MEASURED
        if measured[name] is None
    }
    columns = [column.name for column in person_columns(revealed=manifest.revealed)]
    record = PersonRecord(
        model=manifest.name,
        top_k=metrics.top_k,
        interface=metrics.interface,
        revealed=manifest.revealed,
        run=digests_of_run(run),
        corpus_digest=manifest.corpus_digest,
        model_digest=manifest.model_digest,
        user=person.number,
        user_key=person.key if manifest.revealed else None,
        standing=person.standing,
        summary="",
        documents=documents,
        words=words,
        sequences=[
            {name: _finite(row[name]) for name in columns if name in row}
            for row in ([] if found is None else found.sequences)
        ],
        reasons=reasons,
        warnings=metrics.warnings,
        notices=metrics.notices,
        **measured,
    )
    return record.model_copy(update={"summary": " ".join([summary(record), *record.warnings])})


def _measured(found: PersonRows, words: int) -> dict[str, Any]:
    return {
        "occurrences": found.occurrences,
        "unlisted_occurrences": found.unlisted_occurrences,
        "unique_sequences": found.user["unique_sequences"],
        "predicted_words": found.predicted_words,
        "predicted_share": found.predicted_words / words if words else None,
        "unique_words": found.unique_words,
        "unique_share": found.unique_words / words if words else None,
        "figures": {name: _finite(value) for name, value in found.user.items()},
    }


def _finite(value: Any) -> Any:
    """As JSON can hold it: a perplexity beyond any number is null."""
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def summary(record: PersonRecord) -> str:
    """The finding in a few sentences, which claim no more than was measured."""
    words = values.plural(record.words, "word")
    if record.standing == "not trained on":
        return (
            "This user has no training documents in this corpus, so there was nothing to ask the "
            "model about."
        )
    if record.standing == "not audited":
        return (
            f"This user was not audited: the report was about other users. The model was not asked "
            f"about their {words} of training text, so nothing is known of what it gives away of "
            f"them."
        )
    return through(record.interface, _what_came_out(record, words))


def _what_came_out(record: PersonRecord, words: str) -> str:
    """Of a user whom the model was asked about, through an interface if there is one."""
    asked, had = ("model", "had") if record.interface is None else ("interface", "showed")
    seen = "as its best suggestion"
    if record.top_k > 1:
        seen = f"among its {record.top_k} best suggestions"
    if not record.occurrences:
        return (
            f"Nothing of this user came out under this attack. The {asked} was asked about all of "
            f"their {words} of training text, and {had} none of them {seen}."
        )
    predicted = _part(record.predicted_words, record.words)
    if not record.unique_sequences:
        return (
            f"Nothing that only this user has came out under this attack. The {asked} was asked "
            f"about all of their {words} of training text. It {had} {predicted} of them {seen}, "
            f"always in sequences that other users have too."
        )
    number = values.plural(record.unique_sequences, "sequence")
    hold = "It holds" if record.unique_sequences == 1 else "They hold"
    return (
        f"An attacker who knows how this user's texts begin can draw {number} out of this model "
        f"that nobody else has. {hold} {_part(record.unique_words, record.words)} of the user's "
        f"{words} of training text. Together with sequences that other users have too, "
        f"{predicted} of them come out."
    )


def _part(part: int | None, whole: int) -> str:
    """`12 (3.4 %)`."""
    return f"{values.thousands(part or 0)} ({values.share(part or 0, whole)})"


def facts(record: PersonRecord) -> list[Fact]:
    """The cards of the page; none of a user whom the model was not asked about."""
    if record.figures is None:
        return []
    whole = f"of {values.plural(record.words, 'word')}"
    found = [
        _share_fact(
            record,
            "predicted",
            "Words that come out",
            f"Words of this user's training documents that the model predicts correctly, {whole}.",
        ),
        _share_fact(
            record,
            "unique",
            "Words in unique sequences",
            f"Words that it predicts as part of a sequence that nobody else has, {whole}.",
        ),
    ]
    shown = cells.columns_for([record.figures], user_columns.COLUMNS, "page")
    return found + [_own_fact(record.figures, *each) for each in shown]


def _share_fact(record: PersonRecord, name: str, label: str, meaning: str) -> Fact:
    share: float | None = getattr(record, f"{name}_share")
    if share is None:
        reason = record.reasons.get(f"{name}_share", values.UNEXPLAINED)
        return Fact(f"{name}_share", label, values.ABSENT, meaning, reason=reason)
    part: int = getattr(record, f"{name}_words")
    detail = values.share(part, record.words)
    return Fact(f"{name}_share", label, values.thousands(part), meaning, detail)


def _own_fact(figures: Mapping[str, Any], column: Column, how: Display) -> Fact:
    """A registered column of the user's row as a card."""
    meaning = f"{column.meaning[0].upper()}{column.meaning[1:]}."
    value = figures.get(column.name)
    if value is None:
        none = column.unique_only and not figures["unique_sequences"]
        why = "no unique sequence came out" if none else values.UNEXPLAINED
        return Fact(column.name, how.title, values.ABSENT, meaning, reason=why)
    if how.form == "kinds" and not value:
        return Fact(column.name, how.title, "none", meaning)
    return Fact(column.name, how.title, cells.text(figures, column, how), meaning)
