"""The headline numbers of a report, each measured or absent with its reason."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from leakscope.corpus.store import Corpus
from leakscope.leakage.chance.chance_figures import NO_PUBLIC, ChanceFigures, chance_figures
from leakscope.leakage.epsilon_figures import (
    NO_UNIQUE,
    EpsilonFigures,
    epsilon_figures,
)
from leakscope.leakage.scrutiny.findings import UniqueFindings
from leakscope.leakage.sequences.counted import CountedSequences
from leakscope.leakage.sequences.distinct import Sequences
from leakscope.records.measured import Measured
from leakscope.records.models.model_figures import ModelFigures
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_metrics import Metrics

NOT_ASKED = "it was not asked for"
UNMEASURED = "not measured"


@dataclass(frozen=True)
class UniqueFigures:
    """What is measured of the unique sequences, under the names of `metrics.json`."""

    longest_unique: Measured[int]
    curated: Measured[dict[str, int]]
    unique_without_context: Measured[int]
    least_context_measured: Measured[int]
    elsewhere: Measured[dict[str, dict[str, int]]]
    unique_pii: Measured[dict[str, int]]
    unique_with_pii: Measured[int]
    unique_public_predicts: Measured[int]


def metrics_of(
    counted: CountedSequences,
    corpus: Corpus,
    settings: ReportSettings,
    figures: ModelFigures,
    near_ties: int,
    findings: UniqueFindings,
) -> Metrics:
    """All of `metrics.json`."""
    members, sequences = counted.members, counted.sequences
    unique, trained = sequences.unique, corpus.counts()
    by_length = np.bincount(sequences.lengths[unique])
    threshold = settings.user_threshold
    measured = _measured(_public_figures(findings).updated(figures)) | _measured(
        _unique_figures(sequences, settings, findings)
    )
    ratios = None if findings.ratios is None else findings.ratios.of_sequence
    measured |= _measured(epsilon_figures(counted, findings))
    measured |= _measured(chance_figures(findings.chance, counted, ratios))
    values: dict[str, Any] = {name: each.value for name, each in measured.items()}
    return Metrics(
        top_k=settings.top_k,
        users=trained.users,
        documents=trained.documents,
        words=trained.words,
        correct_words=int(members.lengths.sum()),
        occurrences=len(members.nodes),
        sequences=len(sequences),
        unique_sequences=int(unique.sum()),
        unique_not_copied=int((unique & ~sequences.copied).sum()),
        unique_by_length={int(n): int(by_length[n]) for n in np.flatnonzero(by_length)},
        users_with_unique=len(counted.owners()),
        user_threshold=threshold,
        below_threshold=len(sequences)
        if threshold is None
        else int((sequences.users_in_s < threshold).sum()),
        near_ties=near_ties,
        reasons={
            name: each.reason or UNMEASURED for name, each in measured.items() if each.value is None
        },
        **values,
    )


def _measured(
    record: ModelFigures | UniqueFigures | ChanceFigures | EpsilonFigures,
) -> dict[str, Measured[Any]]:
    """The fields of a record by name, as `metrics.json` has them."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _public_figures(findings: UniqueFindings) -> ModelFigures:
    """Why the public model's own numbers are absent, where nobody has measured them."""
    unjudged = NO_PUBLIC if findings.ratios is None else NO_UNIQUE
    return ModelFigures(
        public_unique_sequences=Measured.absent(NOT_ASKED),
        public_unknown_sequences=Measured.absent(unjudged),
    )


def _unique_figures(
    sequences: Sequences, settings: ReportSettings, findings: UniqueFindings
) -> UniqueFigures:
    some = bool(sequences.unique.any())
    unasked = NOT_ASKED if some else NO_UNIQUE
    least, elsewhere, tags = findings.least, findings.elsewhere, findings.tags
    predicted = findings.public_predicts
    ratio = _ratios_of_unique(sequences, findings)
    unjudged = NO_PUBLIC if ratio is None else NO_UNIQUE
    return UniqueFigures(
        longest_unique=Measured.of(
            int(sequences.lengths[sequences.unique].max()) if some else None, NO_UNIQUE
        ),
        curated=Measured.of(None if ratio is None else _curated(ratio, settings), NO_PUBLIC),
        unique_without_context=Measured.of(
            None if least is None else int((least.words == 0).sum()), unasked
        ),
        least_context_measured=Measured.of(None if least is None else len(least.words), unasked),
        elsewhere=Measured.of(None if elsewhere is None else elsewhere.by_kind, NOT_ASKED),
        unique_pii=Measured.of(None if tags is None else _by_kind(tags), UNMEASURED),
        unique_with_pii=Measured.of(None if tags is None else len(tags), UNMEASURED),
        unique_public_predicts=Measured.of(
            None if predicted is None else int(predicted.sum()), unjudged
        ),
    )


def _ratios_of_unique(
    sequences: Sequences, findings: UniqueFindings
) -> np.ndarray[tuple[int], np.dtype[np.floating]] | None:
    """[s] the ratio of each unique sequence, minus infinity for the others; None if unjudged."""
    if findings.ratios is None:
        return None
    return np.where(sequences.unique, findings.ratios.of_sequence, -np.inf)


def _curated(
    ratio: np.ndarray[tuple[int], np.dtype[np.floating]], settings: ReportSettings
) -> dict[str, int]:
    """Metric 2 at every threshold."""
    return {repr(t).removesuffix(".0"): int((ratio >= t).sum()) for t in settings.thresholds}


def _by_kind(tags: dict[int, tuple[str, ...]]) -> dict[str, int]:
    kinds = sorted({kind for found in tags.values() for kind in found})
    return {kind: sum(kind in found for found in tags.values()) for kind in kinds}
