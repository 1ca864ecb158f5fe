"""What a report must say that is about some users only."""

from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_metrics import Metrics


def notices_of_part(metrics: Metrics, settings: ReportSettings) -> tuple[str, ...]:
    """That only some users were audited, a sentence each; nothing if all were."""
    part, chosen = metrics.audited, settings.audited
    if part is None:
        return ()
    told = [
        f"Only {part.users:,} of {metrics.users:,} users were audited (--users): the numbers say "
        f"nothing about what the model gives away of the others."
    ]
    if chosen is not None and chosen.users > part.users:
        told.append(
            f"{chosen.users - part.users:,} of the {chosen.users:,} chosen users had no training "
            f"documents, so the model was not asked about them."
        )
    if settings.full_perplexity:
        told.append("The training perplexity is that of the audited users' words.")
    return tuple(told)


def nobody_trained_on() -> LeakscopeError:
    """The error where there is nothing to measure."""
    return LeakscopeError(
        "None of the chosen users has training documents, so there is nothing to measure; choose "
        "others by --users."
    )
