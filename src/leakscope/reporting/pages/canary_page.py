"""`exposure.html`, `attack.html`: what was measured on canaries, without words or users."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from leakscope.records.artifacts import write_text
from leakscope.records.canaries.bound_record import BoundReport
from leakscope.records.canaries.exposure_record import AttackReport, ExposureReport
from leakscope.reporting.facts.values import ABSENT
from leakscope.reporting.pages.document import render
from leakscope.reporting.svg.canary_figures import PointWithInterval, by_repetitions

Table = tuple[str, Mapping[str, str], Sequence[Mapping[str, Any]]]
"""Title, columns with their titles, rows."""

METHODS = {
    "Exposure of canaries": "Carlini et al. 2019",
    "Tab attack on canaries": "Mireshghallah et al. 2021",
    "Epsilon from one run": "Steinke et al. 2023",
    "Study of mitigations": "Mireshghallah et al. 2021",
    "Study of updates": "Zanella-Béguelin et al. 2020",
}
"""Where what a kind of page shows comes from."""
EXPOSURE_COLUMNS = {
    "state": "Canaries",
    "frequency": "Frequency",
    "repetitions": "Repetitions",
    "measured": "Measured",
    "mean": "Mean exposure (bits)",
    "low": "95 % from",
    "high": "to",
    "censored": "Lower bounds",
    "beyond_samples": "Beyond all samples",
}
ATTACK_COLUMNS = {
    "state": "Canaries",
    "frequency": "Frequency",
    "repetitions": "Repetitions",
    "attack": "Attack",
    "attacked": "Attacked",
    "reconstructed": "Reconstructed",
    "rate": "Rate",
    "low": "95 % from",
    "high": "to",
}
SPACE_COLUMNS = {
    "template": "Template",
    "frequency": "Frequency",
    "log2_size": "log2 |R|",
    "enumerated": "Enumerated",
    "samples": "Samples",
    "ks_distance": "KS distance",
    "ks_p_value": "KS p-value",
    "reason": "Missing, because",
}


def shown(value: Any) -> str:
    """A cell."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.2f}" if value == 0 or abs(value) >= 0.01 else f"{value:.1e}"
    return str(value)


def write_exposure_page(report: ExposureReport, path: Path) -> None:
    """Write `exposure.html`."""
    rows = [each.model_dump() for each in report.by_repetitions]
    spaces = [each.model_dump() for each in report.spaces]
    series = []
    for frequency in dict.fromkeys(each.frequency for each in report.by_repetitions):
        points = [
            PointWithInterval(each.repetitions, each.mean, each.low, each.high)
            for each in report.by_repetitions
            if each.state == "planted" and each.frequency == frequency and each.mean is not None
        ]
        if points:
            series.append((f"planted, {frequency}", points))
    figures = [
        (
            "Exposure by repetitions",
            "Mean over canaries, with its 95 % interval. Canaries that were not planted have "
            "about 1.4 bits.",
            by_repetitions(
                f"exposure{at}", "Exposure by repetitions", "exposure (bits)", series[at : at + 2]
            ),
        )
        for at in range(0, len(series), 2)
    ]
    write_page(
        path,
        "Exposure of canaries",
        report.model,
        "How much more probable the model finds the canaries than other texts of their random "
        "space R: log2 |R| minus log2 of their rank, in bits. Where a canary is beyond all "
        "samples, the value comes from the tail of the fit; exposure.parquet has each one's own "
        "interval. Intervals here are over canaries.",
        report.warnings,
        figures,
        [
            ("By repetitions", EXPOSURE_COLUMNS, rows),
            ("Random spaces", SPACE_COLUMNS, spaces),
        ],
    )


def write_attack_page(report: AttackReport, path: Path) -> None:
    """Write `attack.html`; the figure is of the first frequency class."""
    series = []
    frequency = next((each.frequency for each in report.rates if each.state == "planted"), None)
    for attack in dict.fromkeys(each.attack for each in report.rates):
        points = [
            PointWithInterval(each.repetitions, each.rate, each.low, each.high)
            for each in report.rates
            if (each.attack, each.state, each.frequency) == (attack, "planted", frequency)
        ]
        if points:
            series.append((attack, points))
    figures = []
    if series:
        drawn = by_repetitions(
            "attack", "Reconstructed by repetitions", "share reconstructed", series, top=1.0
        )
        figures.append(
            ("Reconstructed by repetitions", "Planted canaries, with 95 % intervals.", drawn)
        )
    write_page(
        path,
        "Tab attack on canaries",
        report.model,
        "How many canaries the model completes whole when it is given their first words "
        f"({report.settings.get('given', 1)} of them; a beam of {report.settings.get('beam', 1)}).",
        report.warnings,
        figures,
        [("By repetitions", ATTACK_COLUMNS, [each.model_dump() for each in report.rates])],
    )


BOUND_COLUMNS = {
    "unit": "Unit",
    "claimed": "Claimed epsilon",
    "epsilon_lower": "Measured: at least",
    "delta": "Delta",
    "confidence": "Confidence",
    "coins": "Coins",
    "guesses": "Guesses",
    "correct": "Right",
    "above_claim": "Claim refuted",
}


def write_bound_page(report: BoundReport, path: Path) -> None:
    """Write `bound.html`: what was measured below what is claimed."""
    tried = [each.model_dump() for each in report.tried]
    titles = {"guesses": "Guesses", "correct": "Right", "epsilon_lower": "Epsilon at least"}
    write_page(
        path,
        "Epsilon from one run",
        report.model,
        "Which epsilon the training cannot have, from guesses about canaries that were in or out "
        "by a coin. Below the claim it proves nothing; above the claim it refutes it.",
        report.warnings,
        [],
        [
            ("Measured and claimed", BOUND_COLUMNS, [report.model_dump()]),
            ("Numbers of guesses", titles, tried),
        ],
    )


def write_page(
    path: Path,
    kind: str,
    model: str,
    reading: str,
    warnings: Sequence[str],
    figures: Sequence[tuple[str, str, Markup]],
    tables: Sequence[Table],
    findings: Sequence[str] = (),
) -> None:
    """Write a page with figures and tables, below the findings in sentences if there are some."""
    page = render(
        "canary.html",
        kind=kind,
        model=model,
        reading=reading,
        findings=findings,
        warnings=warnings,
        figures=figures,
        tables=tables,
        method=METHODS[kind],
        shown=shown,
    )
    write_text(path, page)
