"""Training with the adversarial regularizer."""

from leakscope.records.models.regularizer_records import AdversarialRecord
from leakscope.training.mitigations.mitigation import Workbench
from leakscope.training.mitigations.regularized import RegularizedTraining, require_authors
from leakscope.training.regularizers.adversarial_settings import AdversarialSettings
from leakscope.training.regularizers.adversarial_term import AdversarialTerm


def start(settings: AdversarialSettings, bench: Workbench) -> RegularizedTraining:
    """Training with a discriminator for the authors of the text."""
    authors = require_authors(bench, 1, "With one user there is no author to be told from another")
    width = bench.network.architecture.hidden
    term = AdversarialTerm(settings, width, authors, seed=bench.seed)

    def record(authors: int, figures: dict[str, float | None]) -> AdversarialRecord:
        return AdversarialRecord(
            privacy_weight=settings.privacy_weight,
            privacy_warmup=settings.privacy_warmup,
            users_per_batch=settings.users_per_batch,
            discriminator_width=settings.discriminator_width,
            discriminator_steps=settings.discriminator_steps,
            discriminator_input=settings.discriminator_input,
            authors=authors,
            privacy_loss=figures["privacy_loss"],
            discriminator_accuracy=figures["discriminator_accuracy"],
        )

    return RegularizedTraining(bench, term, record, settings.users_per_batch)
