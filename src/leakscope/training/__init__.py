"""Training of word-level models, and private or regularized training of any.

    from leakscope.training import PrivacySettings, make_private
    from leakscope.training import AdversarialSettings, AdversarialTerm, RegularizedTrainer

The names are imported when they are first asked for: the accountant is an extra, and takes a while.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leakscope.training.dp.accounting.dp_event import dp_event
    from leakscope.training.dp.clipping.module_clipper import TokenRows, next_token_loss
    from leakscope.training.dp.custom_loop.make_private import LoopOptions, make_private
    from leakscope.training.dp.custom_loop.private_loop import PrivateLoop, PrivateStep
    from leakscope.training.dp.dp_settings import PrivacySettings
    from leakscope.training.regularizers.adversarial_settings import AdversarialSettings
    from leakscope.training.regularizers.adversarial_term import AdversarialTerm
    from leakscope.training.regularizers.regularized_trainer import RegularizedTrainer
    from leakscope.training.regularizers.triplet_settings import TripletSettings
    from leakscope.training.regularizers.triplet_term import TripletTerm

_HOMES = {
    "AdversarialSettings": "regularizers.adversarial_settings",
    "AdversarialTerm": "regularizers.adversarial_term",
    "LoopOptions": "dp.custom_loop.make_private",
    "PrivacySettings": "dp.dp_settings",
    "PrivateLoop": "dp.custom_loop.private_loop",
    "PrivateStep": "dp.custom_loop.private_loop",
    "RegularizedTrainer": "regularizers.regularized_trainer",
    "TokenRows": "dp.clipping.module_clipper",
    "TripletSettings": "regularizers.triplet_settings",
    "TripletTerm": "regularizers.triplet_term",
    "dp_event": "dp.accounting.dp_event",
    "make_private": "dp.custom_loop.make_private",
    "next_token_loss": "dp.clipping.module_clipper",
}

__all__ = [
    "AdversarialSettings",
    "AdversarialTerm",
    "LoopOptions",
    "PrivacySettings",
    "PrivateLoop",
    "PrivateStep",
    "RegularizedTrainer",
    "TokenRows",
    "TripletSettings",
    "TripletTerm",
    "dp_event",
    "make_private",
    "next_token_loss",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
