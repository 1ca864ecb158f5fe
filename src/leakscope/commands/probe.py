"""`probe`: what the model would suggest, as a curious user sees it."""

from pathlib import Path

from leakscope.auditing.model_loading import ModelOptions, check_base, with_base_found
from leakscope.auditing.probing.answers import Probe, Prober
from leakscope.auditing.probing.tokens import TokenProber
from leakscope.auditing.probing.words import WordProber
from leakscope.models.subword.hub import find_model
from leakscope.models.subword.loading import is_pretrained
from leakscope.records.errors import LeakscopeError


def open_prober(
    model: Path, block_list: Path | None = None, reading: ModelOptions | None = None
) -> Prober:
    """A model that can be asked again and again: word-level, behind a block list if there is one,
    or from elsewhere, loaded as `reading` says.
    """
    model, how = find_model(model), with_base_found(reading or ModelOptions())
    check_base(model, how)
    if not is_pretrained(model):
        return WordProber(model, block_list)
    if block_list is not None:
        raise LeakscopeError(
            "A block list is of whole words, which a Hugging Face model's tokens are not; leave "
            "out --block-list, and for generation see leakscope.models.wrappers.generation_filter."
        )
    return TokenProber.load(model, how)


def probe(
    model: Path,
    text: str,
    *,
    top_k: int = 5,
    length: int = 20,
    block_list: Path | None = None,
    reading: ModelOptions | None = None,
) -> Probe:
    """What `model` suggests after `text`, behind a block list if there is one."""
    return open_prober(model, block_list, reading)(text, top_k=top_k, length=length)
