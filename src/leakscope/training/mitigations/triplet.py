"""Training with the triplet regularizer."""

from leakscope.records.models.regularizer_records import TripletRecord
from leakscope.training.mitigations.mitigation import Workbench
from leakscope.training.mitigations.regularized import RegularizedTraining, require_authors
from leakscope.training.regularizers.triplet_settings import TripletSettings
from leakscope.training.regularizers.triplet_term import TripletTerm


def start(settings: TripletSettings, bench: Workbench) -> RegularizedTraining:
    """Training with distances between texts of the same and of different authors."""
    require_authors(
        bench, 2, "The triplet regularizer needs two users, and two documents of one of them"
    )
    term = TripletTerm(settings)

    def record(authors: int, figures: dict[str, float | None]) -> TripletRecord:
        return TripletRecord(
            privacy_weight=settings.privacy_weight,
            privacy_warmup=settings.privacy_warmup,
            users_per_batch=settings.users_per_batch,
            distance=term.distance,
            authors=authors,
            privacy_loss=figures["privacy_loss"],
        )

    return RegularizedTraining(bench, term, record, settings.users_per_batch)
