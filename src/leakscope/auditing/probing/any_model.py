"""Open any model to be probed."""

from pathlib import Path

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.model_loading import check_base, with_base_found
from leakscope.auditing.probing.probe_answers import Prober
from leakscope.auditing.probing.token_prober import TokenProber
from leakscope.auditing.probing.word_prober import WordProber
from leakscope.models.subword.hub import find_model
from leakscope.models.subword.loading import is_pretrained
from leakscope.records.errors import LeakscopeError


def open_prober(
    model: Path, block_list: Path | None = None, loading: LoadingSettings | None = None
) -> Prober:
    """A model that can be asked again and again: word-level, behind a block list if there is one,
    or from elsewhere, loaded as `loading` says.
    """
    model, how = find_model(model), with_base_found(loading or LoadingSettings())
    check_base(model, how)
    if not is_pretrained(model):
        return WordProber(model, block_list)
    if block_list is not None:
        raise LeakscopeError(
            "A block list is of whole words, which a Hugging Face model's tokens are not; leave "
            "out --block-list, and for generation see leakscope.models.wrappers.generation_filter."
        )
    return TokenProber.load(model, how)
