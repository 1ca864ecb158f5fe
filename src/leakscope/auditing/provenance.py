"""Which users and documents a model has been trained on, as far as digests and people tell."""

from dataclasses import replace
from pathlib import Path

from leakscope.corpus.manifest import CorpusManifest
from leakscope.corpus.store import Corpus
from leakscope.models.word.model_directory import load_config, weights_digest
from leakscope.records.documents import IntArray
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.model_config import ModelConfig, users_digest
from leakscope.records.runs.report_settings import ReportSettings


def prove_unseen(path: Path, corpus: Corpus, left_out: str) -> None:
    """Refuse a model unless its training, and every one that its weights went through before on
    this corpus, left out the users with this digest.
    """
    config = load_config(path)
    before = [(each.corpus_digest, each.without_users) for each in config.ancestry]
    trainings = [(config.corpus_digest, config.without_users), *before]
    if config.corpus_digest != corpus.manifest.digest or any(
        digest == corpus.manifest.digest and (without is None or without.digest != left_out)
        for digest, without in trainings
    ):
        raise LeakscopeError(
            f"The model in {path} was not trained without the users that it would judge, or it "
            f"was started from one that was not; give another --public or --public-dir."
        )


def untold_warnings(config: ModelConfig) -> list[str]:
    """A warning if what a model, or one that it was started from, has seen is not told."""
    if not config.published and all(each.corpus_digest for each in config.ancestry):
        return []
    return [
        "The public model is a published copy, or was started from one, which does not say what it "
        "was trained on: if it was these users' text, ratios are too low."
    ]


def seen_warnings(
    config: ModelConfig, digest: str, audited: Path | None, corpus: Corpus, owners: IntArray
) -> list[str]:
    """Why a model with these weights may know the users that it is to judge: the gravest reason,
    if there is one.
    """
    this, without = corpus.manifest, config.without_users
    # Other kinds of models keep their weights elsewhere.
    is_word_level = audited is not None and (audited / "model.safetensors").exists()
    known = weights_digest(audited) if audited is not None and is_word_level else None
    made_from = {this.digest, *(given.digest for given in this.inputs)}
    on_this = config.corpus_digest == this.digest
    just_right = without is not None and without.digest == users_digest(owners)
    reasons = {
        "The public model is the audited model itself: every ratio is 1.": digest == known,
        "The public model was started from the audited model: ratios are far too low.": any(
            each.weights == known for each in config.ancestry
        ),
        "The public model was started from one that was trained on this very corpus: ratios are "
        "far too low.": any(each.corpus_digest == this.digest for each in config.ancestry),
        "The public model was trained on this very corpus: ratios are far too low.": on_this
        and without is None,
        "The public model was trained on this corpus without some users, who are not just the "
        "owners of the unique sequences: ratios may be too low.": on_this and not just_right,
        "The public model was trained on a corpus with exactly the same words, so probably on the "
        "same users: ratios may be too low.": not on_this
        and config.lexicon_digest == this.lexicon_digest,
        "The public model was trained on a corpus that was made from the same data: ratios are "
        "too low.": not on_this and bool({config.corpus_digest, *config.corpus_inputs} & made_from),
    }
    found = [reason for reason, holds in reasons.items() if holds][:1]
    return found or untold_warnings(config)


def of_our_model(settings: ReportSettings) -> ReportSettings:
    """The settings for a model that leakscope trained: on the corpus's training part."""
    if settings.trained_on == "all":
        raise LeakscopeError(
            "leakscope trained this model itself, on the training part of its corpus; leave out "
            "--trained-on."
        )
    return replace(settings, trained_on=None)


def of_model_from_elsewhere(settings: ReportSettings, corpus: CorpusManifest) -> ReportSettings:
    """The settings for a model that leakscope did not train. Whoever trains elsewhere does not know
    which documents were drawn here to be held out, so somebody must say whether they were.
    """
    if not corpus.validation.documents:
        return replace(settings, trained_on=None)  # its training part is all that there is
    if settings.trained_on is None and not corpus.says_what_was_trained_on:
        raise LeakscopeError(
            "Which documents this model was trained on is not known, since the corpus holds out "
            "some that were drawn when it was built; give --trained-on all or --trained-on train, "
            "or build the corpus with --split-column or with --validation 0."
        )
    return settings
