"""`report.html`: one run as one page that needs nothing else."""

from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from leakscope.records.artifacts import write_text
from leakscope.records.dp_record import without_seed
from leakscope.records.run import Metrics, RunManifest, open_run
from leakscope.reporting.facts import guarantee, headline, values
from leakscope.reporting.pages.document import embedded, render
from leakscope.reporting.rows.listing import (
    SequenceRow,
    easiest,
    first_sequences,
    most_exposed,
    sequence_of,
    unique_by_user,
    unique_perplexities,
)
from leakscope.reporting.svg import figures

ROWS = 500
USERS = 15
EASIEST = 15


def write_page(run: Path) -> Path:
    """Write `report.html` into the run directory `run`, from its records alone."""
    manifest, metrics = open_run(run)
    rows = first_sequences(run, ROWS, revealed=manifest.revealed)
    page = render(
        "report.html",
        manifest=manifest,
        metrics=metrics,
        summary=headline.summary(metrics),
        leakage=guarantee.leakage(manifest, metrics),
        privacy=_privacy(manifest),
        quality=headline.extent(metrics) + headline.quality(metrics),
        figures=_figures(run, metrics),
        users=most_exposed(run, USERS, revealed=manifest.revealed),
        easiest=easiest(run, EASIEST, revealed=manifest.revealed),
        public=_public(manifest, metrics),
        worst=_worst(run, metrics, revealed=manifest.revealed),
        rows=rows,
        listed=metrics.below_threshold,
        ratios=any(row.ratio is not None for row in rows),
        sort_keys=embedded([_sort_keys(row) for row in rows]),
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
            "right are what to look at first.",
            figures.length_histogram(metrics.unique_by_length),
        )
    ]
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
            figures.spread_over_users(unique_by_user(run).tolist(), metrics.users),
        )
    )
    return shown


_KINDS = {
    "given": "a model chosen for it",
    "retrain": "a model trained in the same way without any data of the users who own unique "
    "sequences",
    "crossfit": "cross-fitted models: every user is judged by one that was trained without them",
}


def _public(manifest: RunManifest, metrics: Metrics) -> dict[str, Any] | None:
    """What the page says of the public model; None if there was none."""
    if manifest.public is None:
        return None
    given = manifest.public
    described = f"{_KINDS.get(given['kind'], given['kind'])} ({given['name']})"
    if given.get("trained_like_the_audited_model") is False:
        described += ", trained with other settings than this model"
    return {
        "described": described,
        "warnings": list(given.get("warnings", ())),
        "benchmark": metrics.public_unique_sequences,
        "unknown": metrics.public_unknown_sequences,
    }


def _privacy(manifest: RunManifest) -> dict[str, Any]:
    """What the page says of differential privacy; without any, in one line that there is none."""
    found = guarantee.guarantee_of(manifest)
    record = found.record
    return {
        "stamp": guarantee.stamp(found),
        "reason": found.reason,
        "record": record,
        "epsilon": None if found.epsilon is None else values.bound(found.epsilon),
        "details": [] if record is None else guarantee.details(record),
        "caveats": [] if record is None else guarantee.caveats(record),
    }


def _worst(run: Path, metrics: Metrics, *, revealed: bool) -> SequenceRow | None:
    """The sequence that sets the leakage epsilon, if it is listed."""
    if metrics.leakage_epsilon_sequence is None:
        return None
    return sequence_of(run, metrics.leakage_epsilon_sequence, revealed=revealed)


def _sort_keys(row: SequenceRow) -> dict[str, Any]:
    """The numbers that the page's script sorts and filters by."""
    sure = row.perplexity
    return {
        "length": row.length,
        "total_in_s": row.total_in_s,
        "users_in_s": row.users_in_s,
        "total_in_d": row.total_in_d,
        "users_in_d": row.users_in_d,
        "context": row.shortest_context,
        "perplexity": round(sure, 6) if sure is not None and np.isfinite(sure) else None,
        "least": row.least_context,
        "ratio": row.ratio if row.ratio is not None and np.isfinite(row.ratio) else None,
        "copied": row.copied,
        "near_tie": row.near_tie,
    }


def _model(manifest: RunManifest) -> str:
    """The model in one line, as far as its config tells."""
    config = manifest.model
    architecture = config.get("architecture") or {}
    known = []
    if "kind" in architecture:
        known.append(str(architecture["kind"]).upper())
    for key, unit in (("layers", "layer"), ("hidden", "hidden unit")):
        if isinstance(architecture.get(key), int):
            known.append(values.plural(architecture[key], unit))
    if isinstance(config.get("parameters"), int):
        known.append(values.plural(config["parameters"], "parameter"))
    if isinstance(config.get("vocabulary"), int):
        known.append(f"vocabulary of {values.plural(config['vocabulary'], 'word')}")
    epoch = (config.get("progress") or {}).get("epoch")
    if isinstance(epoch, int | float):
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
        ("Settings", _flat(manifest.settings)),
        ("Digests", digests),
        ("Versions", dict(manifest.versions)),
        ("Training", _flat(without_seed(manifest.model.get("training") or {}))),
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
