"""`export`."""

import os
from pathlib import Path
from typing import Any

from leakscope.commands.command_settings import ExportSettings
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.records.errors import LeakscopeError
from leakscope.records.models.model_config import ModelConfig
from leakscope.training.published_copy import publish


@takes_options_of("export")
def export(
    model: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    **options: Any,
) -> ModelConfig:
    """Write a copy of a model for others into the directory `out`; the copy's config."""
    asked = Given("export", settings, options).make(ExportSettings)
    if not asked.public:
        raise LeakscopeError("Say what the copy is for: --public makes one to be published.")
    return publish(Path(model), Path(out))
