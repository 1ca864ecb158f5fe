"""From a clipped sum to the gradient that an optimizer may see."""

from collections.abc import Iterable

from torch import Tensor

from leakscope.training.dp.ledger import Ledger
from leakscope.training.dp.noise.noise_source import NoiseSource
from leakscope.training.dp.privacy_plan import PrivacyPlan


def release(
    weights: Iterable[Tensor], plan: PrivacyPlan, ledger: Ledger, noise: NoiseSource, step: int
) -> None:
    """Make the clipped sums in the weights' `.grad` the private gradient of the training's step
    number `step`, from 0. The ledger has the step on the disk before the noise is drawn.
    """
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    now = plan.at(step)
    ledger.begin_step(step)
    noise.add_(gradients, now.deviation, step)
    for gradient in gradients:
        gradient.div_(now.denominator)
