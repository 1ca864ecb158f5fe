"""What a model's config says of a regularizer that the model was trained with."""

from typing import Literal

from leakscope.records.models.mitigation_record import MitigationRecord


class AdversarialRecord(MitigationRecord):
    """Of the adversarial regularizer. Figures are means over the last epoch, or what there was of
    it, and null where no step was taken.
    """

    kind: Literal["adversarial"] = "adversarial"
    privacy_weight: float
    """The lambda of the loss, in the end."""
    privacy_warmup: float
    """Epochs in which it grew from 0."""
    users_per_batch: int | None
    """Null: batches were drawn as in plain training."""
    discriminator_width: int
    discriminator_steps: int
    """For each of the model's."""
    discriminator_input: Literal["whitened", "states"] = "states"
    """What it saw; records without it are of models whose discriminator saw states as they are."""
    authors: int
    """Users of the training text."""
    privacy_loss: float | None
    """KL divergence of what the discriminator said from uniform, in nats; 0: it was guessing."""
    discriminator_accuracy: float | None
    """How often it named the author of a training text."""


class TripletRecord(MitigationRecord):
    """Of the triplet regularizer; see `AdversarialRecord`."""

    kind: Literal["triplet"] = "triplet"
    privacy_weight: float
    privacy_warmup: float
    users_per_batch: int | None
    distance: Literal["whitened", "states", "directions"]
    """What the distances were between; squared, but for whitened states."""
    authors: int
    privacy_loss: float | None
    """Mean distance between texts of different authors, less that between texts of one."""
