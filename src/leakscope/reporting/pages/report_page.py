"""`report.html`: one run as one page that needs nothing else."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from leakscope.records.artifacts import write_text
from leakscope.records.models.audited_model import progress_of, shape_of, training_of
from leakscope.records.models.mitigation_settings import without_seed
from leakscope.records.models.model_config import ModelConfig
from leakscope.records.models.public_model import CrossFittedModelRecord, GivenModelRecord
from leakscope.records.runs.run_manifest import RunManifest, open_run
from leakscope.records.runs.run_metrics import Metrics
from leakscope.records.unique import HELD_BY
from leakscope.reporting.facts import guarantee, headline, values
from leakscope.reporting.facts.interface_facts import notes
from leakscope.reporting.facts.run_summary import summary
from leakscope.reporting.pages.document import embedded, render
from leakscope.reporting.pages.listed_tables import (
    cell,
    gravest_table,
    sequences_table,
    users_table,
)
from leakscope.reporting.rows import cells
from leakscope.reporting.rows.listing import unique_by_user, unique_perplexities
from leakscope.reporting.rows.worst_sequence import named_in, worst_of
from leakscope.reporting.svg import run_figures as figures


def write_page(run: Path) -> Path:
    """Write `report.html` into the run directory `run`, from its records alone."""
    manifest, metrics = open_run(run)
    sequences = sequences_table(run, revealed=manifest.revealed)
    worst = worst_of(run, metrics, revealed=manifest.revealed)
    page = render(
        "report.html",
        manifest=manifest,
        metrics=metrics,
        summary=summary(metrics),
        interface=notes(metrics.interface),
        leakage=guarantee.leakage(manifest, metrics, named_in(run, manifest, metrics)),
        privacy=_privacy(manifest),
        quality=headline.extent(metrics) + headline.quality(metrics),
        figures=_figures(run, metrics),
        users=users_table(run, revealed=manifest.revealed),
        gravest=gravest_table(run, revealed=manifest.revealed),
        public=_public(manifest, metrics),
        worst=worst,
        sequences=sequences,
        listed=metrics.below_threshold,
        sort_keys=embedded(sequences.sort_keys()),
        cell=cell,
        cells=cells,
        held_by=HELD_BY,
        model=_model(manifest),
        facts=_run_facts(manifest),
    )
    path = run / "report.html"
    write_text(path, page)
    return path


def _figures(run: Path, metrics: Metrics) -> list[tuple[str, str, Markup]]:
    """Title, how to read it, and drawing of each figure; none without unique sequences."""
    if metrics.unique_sequences == 0:
        return []
    shown = [
        (
            "Lengths of the unique sequences",
            "Short ones are often common phrases that happen to be unique; the long ones on the "
            "right are what to look at first."
            + (" The line is what chance would give." if metrics.chance_by_length else ""),
            figures.length_histogram(metrics.unique_by_length, metrics.chance_by_length),
        )
    ]
    if metrics.leakage_epsilon_by_length:
        shown.append(
            (
                "Leakage epsilon by length",
                "The largest ratio to the public model among the unique sequences of each length. "
                "A single rare word can have any ratio; that of a long sequence is hardly chance.",
                figures.epsilon_by_length(metrics.leakage_epsilon_by_length),
            )
        )
    perplexities = unique_perplexities(run, metrics.unique_sequences)
    if np.isfinite(perplexities).any():
        shown.append(
            (
                "Perplexities of the unique sequences",
                "Where the model is surest of each sequence. Near 1 it knows the sequence by "
                "heart, and hiding unsure suggestions would not help.",
                figures.perplexity_histogram(perplexities),
            )
        )
    shown.append(
        (
            "How leakage is spread over users",
            "A steep rise means that few users bear most of it: look at those first.",
            figures.spread_over_users(unique_by_user(run).tolist(), metrics.asked.users),
        )
    )
    return shown


_KINDS = {
    "given": "a model chosen for it",
    "retrain": "a model trained in the same way without any data of the users who own unique "
    "sequences",
    "crossfit": "cross-fitted models: every user is judged by one that was trained without them",
}


@dataclass(frozen=True)
class _Public:
    """What the page says of the public model."""

    described: str
    warnings: tuple[str, ...]
    benchmark: int | None
    unknown: int | None


def _public(manifest: RunManifest, metrics: Metrics) -> _Public | None:
    """None if there was no public model."""
    given = manifest.public
    if given is None:
        return None
    described = f"{_KINDS[given.kind]} ({given.name})"
    if isinstance(given, CrossFittedModelRecord) and given.trained_like_the_audited_model is False:
        described += ", trained with other settings than this model"
    if not isinstance(given, GivenModelRecord) and given.stage is not None and given.stage.digests:
        described += f". What is chance is judged by them as they were at {given.stage.snapshot}"
    benchmark, unknown = metrics.public_unique_sequences, metrics.public_unknown_sequences
    return _Public(described, given.warnings, benchmark, unknown)


def _privacy(manifest: RunManifest) -> dict[str, Any]:
    """What the page says of differential privacy; without any, in one line that there is none."""
    found = guarantee.guarantee_of(manifest)
    record = found.record
    return {
        "stamps": guarantee.stamps(found),
        "insecure": found.insecure,
        "reason": found.reason,
        "record": record,
        "epsilon": None if found.epsilon is None else values.bound(found.epsilon),
        "details": [] if record is None else guarantee.details(record),
        "caveats": [] if record is None else guarantee.caveats(record),
    }


def _model(manifest: RunManifest) -> str:
    """The model in one line, as far as its config tells."""
    shape, config = shape_of(manifest.model), manifest.model
    known = []
    if shape is not None:
        known.append(shape.kind.upper())
        if shape.layers is not None:
            known.append(values.plural(shape.layers, "layer"))
        if shape.hidden is not None:
            known.append(values.plural(shape.hidden, "hidden unit"))
    if isinstance(config, ModelConfig):
        known.append(values.plural(config.parameters, "parameter"))
        known.append(f"vocabulary of {values.plural(config.vocabulary, 'word')}")
    epoch = progress_of(config).epoch
    if epoch is not None:
        known.append(f"after {epoch:g} {'epoch' if epoch == 1 else 'epochs'}")
    return ", ".join(known)


def _run_facts(manifest: RunManifest) -> list[tuple[str, dict[str, str]]]:
    """What is needed to make the run again, in groups."""
    digests = {
        "corpus": manifest.corpus_digest,
        "lexicon": manifest.lexicon_digest,
        "model": manifest.model_digest,
    }
    return [
        ("Settings", _flat(asdict(manifest.settings))),
        ("Digests", digests),
        ("Versions", dict(manifest.versions)),
        ("Training", _flat(without_seed(training_of(manifest.model)))),
    ]


def _flat(nested: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings as dotted names and plain text."""
    flat: dict[str, str] = {}
    for key, value in nested.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = _plain(value)
    return flat


def _plain(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
