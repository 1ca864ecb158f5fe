"""What training with the triplet regularizer is told."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from leakscope.records.errors import LeakscopeError
from leakscope.records.models.mitigation_settings import MitigationSettings
from leakscope.training.regularizers.privacy_weight import check_terms

Distance = Literal["whitened", "states", "directions"]


@dataclass(frozen=True)
class TripletSettings(MitigationSettings):
    """The terms of the triplet regularizer (Mireshghallah et al. 2021, section 2.2)."""

    kind: ClassVar[str] = "triplet"
    title: ClassVar[str] = "the triplet regularizer"

    privacy_weight: float = 0.03
    """The lambda of the loss: how much the privacy loss counts beside the loss of the words. Too
    much keeps a model from learning, and too little hides nothing: try several, and measure."""
    privacy_warmup: float = 0.0
    """Epochs in which that weight grows from 0, linearly. 0: it is the same throughout."""
    users_per_batch: int | None = 4
    """Make each batch of the documents of about so many users, so that it has pairs of one author
    and of two."""
    distance: Distance = "whitened"
    """Between states in coordinates of equal variance; or squared, as in the paper's Eq. 3, between
    states as they are or between their directions, which are bounded for any model."""

    def __post_init__(self) -> None:
        check_terms(self.privacy_weight, self.privacy_warmup, self.users_per_batch)
        if self.users_per_batch == 1:
            raise LeakscopeError(
                "A batch of one user has no pairs of two authors; --users-per-batch must be at "
                "least 2 for --mitigation triplet."
            )
        if self.distance not in get_args(Distance):
            raise LeakscopeError(f"The distance is one of {', '.join(get_args(Distance))}.")
