"""The headline numbers of a report, each measured or absent with its reason."""

from typing import Any

import numpy as np

from leakscope.corpus.store import Corpus
from leakscope.leakage.scrutiny.findings import Findings
from leakscope.leakage.sequences.distinct import Members, Sequences
from leakscope.records.report_settings import ReportSettings
from leakscope.records.run import Metrics

NO_PUBLIC = "no public model was given"
NO_UNIQUE = "there are no unique sequences"
NOT_ASKED = "it was not asked for"
FIGURES = (
    "train_perplexity", "train_perplexity_low", "train_perplexity_high",
    "validation_perplexity", "validation_accuracy", "answered",
    "public_unique_sequences", "public_unknown_sequences",
)  # fmt: skip
"""Numbers that are not computed here but handed in."""


def metrics_of(
    members: Members,
    sequences: Sequences,
    corpus: Corpus,
    settings: ReportSettings,
    figures: dict[str, Any],
    near_ties: int,
    findings: Findings,
) -> Metrics:
    """All of `metrics.json`; `figures` may have `reasons` for what it lacks."""
    unique = sequences.unique
    by_length = np.bincount(sequences.lengths[unique])
    threshold = settings.user_threshold
    owners = members.users[unique[sequences.of_member]]
    values: dict[str, Any] = {name: figures.get(name) for name in FIGURES}
    values["longest_unique"] = int(sequences.lengths[unique].max()) if unique.any() else None
    values |= _public(sequences, settings, findings) | _contexts(findings)
    values["unique_pii"] = _tags(findings)
    values["unique_with_pii"] = None if findings.tags is None else len(findings.tags)
    given = figures.get("reasons", {})
    reasons = {
        name: given.get(name) or _reason(name, findings, any_unique=bool(unique.any()))
        for name, value in values.items()
        if value is None
    }
    return Metrics(
        top_k=settings.top_k,
        users=corpus.manifest.train.users,
        documents=corpus.manifest.train.documents,
        words=corpus.manifest.train.words,
        correct_words=int(members.lengths.sum()),
        occurrences=len(members.nodes),
        sequences=len(sequences),
        unique_sequences=int(unique.sum()),
        unique_not_copied=int((unique & ~sequences.copied).sum()),
        unique_by_length={int(n): int(by_length[n]) for n in np.flatnonzero(by_length)},
        users_with_unique=len(np.unique(owners)),
        user_threshold=threshold,
        below_threshold=len(sequences)
        if threshold is None
        else int((sequences.users_in_s < threshold).sum()),
        near_ties=near_ties,
        reasons=reasons,
        **values,
    )


def _public(sequences: Sequences, settings: ReportSettings, findings: Findings) -> dict[str, Any]:
    """Metric 2 at every threshold, leakage epsilon, and which sequence sets it."""
    if findings.ratios is None:
        return dict.fromkeys(("curated", "leakage_epsilon", "leakage_epsilon_sequence"))
    ratio = np.where(sequences.unique, findings.ratios.of_sequence, -np.inf)
    curated = {repr(t).removesuffix(".0"): int((ratio >= t).sum()) for t in settings.thresholds}
    if not sequences.unique.any():
        return {"curated": curated, "leakage_epsilon": None, "leakage_epsilon_sequence": None}
    worst = int(np.argmax(ratio))
    epsilon = float(ratio[worst])
    return {
        "curated": curated,
        "leakage_epsilon": epsilon if np.isfinite(epsilon) else None,
        "leakage_epsilon_sequence": worst,
    }


def _contexts(findings: Findings) -> dict[str, Any]:
    least, elsewhere = findings.least, findings.elsewhere
    return {
        "unique_without_context": None if least is None else int((least.words == 0).sum()),
        "least_context_measured": None if least is None else len(least.words),
        "elsewhere": None if elsewhere is None else elsewhere.by_kind,
    }


def _tags(findings: Findings) -> dict[str, int] | None:
    if findings.tags is None:
        return None
    kinds = sorted({kind for found in findings.tags.values() for kind in found})
    return {kind: sum(kind in found for found in findings.tags.values()) for kind in kinds}


def _reason(name: str, findings: Findings, *, any_unique: bool) -> str:
    """Why a number is absent, where whoever should have measured it does not say."""
    judged = NO_PUBLIC if findings.ratios is None else None
    asked = NOT_ASKED if any_unique else NO_UNIQUE
    beyond = "the ratio is beyond any number" if any_unique else NO_UNIQUE
    untold = "this kind of model does not tell which words it knows" if any_unique else NO_UNIQUE
    reasons = {
        "curated": judged,
        "leakage_epsilon": judged or beyond,
        "leakage_epsilon_sequence": judged or beyond,
        "public_unknown_sequences": judged or untold,
        "public_unique_sequences": NOT_ASKED,
        "elsewhere": NOT_ASKED,
        "unique_without_context": asked,
        "least_context_measured": asked,
        "longest_unique": NO_UNIQUE,
    }
    return reasons.get(name) or "not measured"
