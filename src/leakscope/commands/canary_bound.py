"""`canary bound`."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from leakscope.auditing.canaries.canary_models import CanarySubject, open_subject
from leakscope.auditing.canaries.measuring import described, measured_subject
from leakscope.canaries.canary_settings import BoundSettings
from leakscope.canaries.one_run import bound_epsilon, coin_scores
from leakscope.canaries.surprise import lexicon_of
from leakscope.commands.canary_access import access_of
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.engine.progress import Progress, silent
from leakscope.records.artifacts import read_json, write_sealed
from leakscope.records.canaries.bound_record import BoundReport, TriedGuesses
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import claimed
from leakscope.records.seal import SEAL
from leakscope.reporting.pages.canary_page import write_bound_page

REPORT, PAGE = "bound.json", "bound.html"


@takes_options_of("canary bound", again=lambda out: read_json(out / REPORT, BoundReport, "a bound"))
def bound(
    model: str | os.PathLike[str],
    canaries: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> BoundReport:
    """A lower bound on the epsilon of the training that made `model`, from canaries that were
    planted with coins, beside the epsilon that is claimed; written into `out`.
    """
    given = Given("canary bound", settings, options)
    asked, access = given.make(BoundSettings), access_of(given, model)
    manifest = CanaryManifest.load(Path(canaries))
    with claimed(Path(out), "canary bound") as claim:
        claim.clear((PAGE, SEAL, REPORT), keep=(".answers",))
        with measured_subject(
            access,
            manifest,
            access.answers or claim.path / ".answers",
            progress,
            other_corpus=asked.other_corpus,
        ) as subject:
            epsilon, delta = _claim(subject, asked, manifest)
            reference = None
            if asked.reference is not None:
                loaded = open_subject(asked.reference, lexicon_of(manifest), access.loading)
                reference = loaded.model
            scores, inside = coin_scores(subject.model, manifest, reference, progress)
        tried = bound_epsilon(scores, inside, delta, asked.confidence, asked.guesses)
        best = max(tried, key=lambda each: each.epsilon_lower)
        above = None if epsilon is None else best.epsilon_lower > epsilon
        values = asdict(asked) | {"reference": asked.reference and asked.reference.name}
        report = BoundReport(
            **described(subject, manifest, values),
            warnings=_warnings(best.epsilon_lower, epsilon, asked.confidence),
            unit=manifest.coins or "user",
            coins=len(scores),
            inside=int(inside.sum()),
            unknown=int(np.isnan(scores).sum()),
            delta=delta,
            confidence=asked.confidence,
            claimed=epsilon,
            above_claim=above,
            tried=[TriedGuesses(**asdict(each)) for each in tried],
            **asdict(best),
        )
        write_bound_page(report, claim.path / PAGE)
        write_sealed(claim.path / REPORT, report, (PAGE,))
        claim.clear((".answers",), keep=(PAGE, SEAL, REPORT))
    return report


def _claim(
    subject: CanarySubject, asked: BoundSettings, manifest: CanaryManifest
) -> tuple[float | None, float]:
    """The epsilon that is claimed, if any, and its delta."""
    record = subject.privacy
    if record is not None and manifest.coins is not None and record.unit != manifest.coins:
        raise LeakscopeError(
            f"The model claims privacy for a {record.unit}, but the coins were tossed for "
            f"{manifest.coins}s; plant with --coins {record.unit} and train again."
        )
    delta = asked.delta if asked.delta is not None else record.delta if record else None
    if delta is None:
        raise LeakscopeError("The model does not say for which delta; give --delta of the claim.")
    epsilon = asked.claimed if asked.claimed is not None else record.epsilon if record else None
    return epsilon, delta


def _warnings(lower: float, epsilon: float | None, confidence: float) -> list[str]:
    if epsilon is None or lower <= epsilon:
        return []
    return [
        f"THE CLAIM DOES NOT HOLD: epsilon is at least {lower:.3g} with {100 * confidence:g} % "
        f"confidence, but {epsilon:.3g} is claimed; look for a mistake in the noise, the clipping, "
        "the sampling or the accounting."
    ]
