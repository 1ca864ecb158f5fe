"""A tiny training of each kind that workers can share."""

from dataclasses import replace

from leakscope.training.mitigations.plain_settings import PlainSettings
from private_training import private


def settings(kind):
    """Twelve private steps, or 33 plain ones with dropout."""
    asked = private("lstm", epochs=3, checkpoint_steps=3, snapshot_steps=5)
    if kind == "dp":
        return asked
    shape = replace(asked.architecture, dropout=0.2)
    return replace(asked, mitigation=PlainSettings(), architecture=shape, batch_size=16)
