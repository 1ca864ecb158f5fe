"""What a model's own records tell of its perplexities and accuracies."""

from leakscope.corpus.store import Corpus
from leakscope.records.measured import Measured
from leakscope.records.models.model_config import ModelConfig
from leakscope.records.models.model_figures import ModelFigures

ASK = "--full-perplexity would measure it"
TEXT_ONLY = "a text-only endpoint tells no probabilities"
PRIVATE = "a private training does not measure it; --full-perplexity would"
DIVERGED = "the loss is beyond any number: the training diverged"
NO_VALIDATION = "the corpus has no validation documents"


def figures_of_training(config: ModelConfig, corpus: Corpus) -> ModelFigures:
    """What the training measured of this very model on this very corpus."""
    known = config.progress
    accuracy = {
        int(name.removeprefix("validation_top")): value
        for name, value in known.items()
        if name.startswith("validation_top") and value is not None
    }
    untold = None if config.privacy is None else PRIVATE
    unseen = DIVERGED if corpus.manifest.validation.documents else NO_VALIDATION
    return ModelFigures(
        train_perplexity=Measured.of(known.get("train_perplexity"), untold),
        train_perplexity_low=Measured.of(known.get("train_perplexity_low"), untold),
        train_perplexity_high=Measured.of(known.get("train_perplexity_high"), untold),
        validation_perplexity=Measured.of(known.get("validation_perplexity"), unseen),
        validation_accuracy=Measured.of(accuracy or None, unseen),
    )
