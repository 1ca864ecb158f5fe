"""What is known of a model beside its sequences: perplexities, accuracies, the public model's."""

from dataclasses import dataclass, fields

from leakscope.records.measured import UNSAID, Measured


@dataclass(frozen=True)
class ModelFigures:
    """Numbers of `metrics.json` that are measured elsewhere and handed in, under the same names.

    The training, the closer look and the benchmark each know some of them.
    """

    train_perplexity: Measured[float] = UNSAID
    train_perplexity_low: Measured[float] = UNSAID
    train_perplexity_high: Measured[float] = UNSAID
    validation_perplexity: Measured[float] = UNSAID
    validation_accuracy: Measured[dict[int, float]] = UNSAID
    answered: Measured[float] = UNSAID
    public_unique_sequences: Measured[int] = UNSAID
    public_unknown_sequences: Measured[int] = UNSAID

    def updated(self, newer: "ModelFigures") -> "ModelFigures":
        """These figures, with what `newer` says (a value, or a reason) in their place."""
        return ModelFigures(
            **{
                field.name: getattr(newer, field.name).or_else(getattr(self, field.name))
                for field in fields(self)
            }
        )

    @staticmethod
    def without_training(reason: str) -> "ModelFigures":
        """Figures of a model whose training perplexity nobody has measured, and why."""
        why: Measured[float] = Measured.absent(reason)
        return ModelFigures(why, why, why)
