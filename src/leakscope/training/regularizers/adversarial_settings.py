"""What training with the adversarial regularizer is told."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from leakscope.records.errors import LeakscopeError
from leakscope.records.models.mitigation_settings import MitigationSettings
from leakscope.training.regularizers.privacy_weight import check_terms

DiscriminatorInput = Literal["whitened", "states"]


@dataclass(frozen=True)
class AdversarialSettings(MitigationSettings):
    """The terms of the adversarial regularizer (Mireshghallah et al. 2021, section 2.1)."""

    kind: ClassVar[str] = "adversarial"
    title: ClassVar[str] = "the adversarial regularizer"

    privacy_weight: float = 0.05
    """The lambda of the loss: how much the privacy loss counts beside the loss of the words. Too
    much keeps a model from learning, and too little hides nothing: try several, and measure."""
    privacy_warmup: float = 0.0
    """Epochs in which that weight grows from 0, linearly. 0: it is the same throughout."""
    users_per_batch: int | None = None
    """Make each batch of the documents of about so many users; 1 is the paper's batching,
    for a discriminator that sees states as they are. By default, batches are drawn as in plain
    training."""
    discriminator_width: int = 1000
    """Units in the hidden layer of the network that learns to tell authors by their states."""
    discriminator_learning_rate: float = 3e-3
    """How far each step of that network's optimizer goes."""
    discriminator_steps: int = 1
    """Steps that the network takes for each of the model's: one on the states of the batch, all
    others on states of the batches before. More make it a stronger opponent, and cost time."""
    discriminator_input: DiscriminatorInput = "states"
    """What that network sees: states as they are, as in the paper, or in coordinates of equal
    variance (whitened), so that nothing is hidden by being small; that needs a smaller weight."""

    def __post_init__(self) -> None:
        check_terms(self.privacy_weight, self.privacy_warmup, self.users_per_batch)
        if min(self.discriminator_width, self.discriminator_steps) < 1:
            raise LeakscopeError(
                "The discriminator must be at least 1 unit wide and take at least 1 step."
            )
        if not 0 < self.discriminator_learning_rate < math.inf:
            raise LeakscopeError(
                "The learning rate of the discriminator must be positive and finite."
            )
        if self.discriminator_input not in get_args(DiscriminatorInput):
            raise LeakscopeError(
                f"The discriminator's input is one of {', '.join(get_args(DiscriminatorInput))}."
            )
        if self.users_per_batch == 1 and self.discriminator_input == "whitened":
            # Standardized over a batch of one user, states say nothing of who that is.
            raise LeakscopeError(
                "--users-per-batch 1 needs --discriminator-input states: whitened states are set "
                "against those of other users in the batch."
            )
