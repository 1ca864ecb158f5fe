"""`probe`: what the model would suggest, as a curious user sees it."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from leakscope.auditing.loading_settings import LoadingSettings
from leakscope.auditing.probing.any_model import open_prober
from leakscope.auditing.probing.probe_answers import Probe
from leakscope.commands.command_settings import ProbeSettings
from leakscope.commands.given import Given
from leakscope.commands.remote_paths import reads_remote_of
from leakscope.commands.signatures import takes_options_of


@takes_options_of("probe")
def probe(model: str | os.PathLike[str], text: str, *settings: object, **options: Any) -> Probe:
    """What `model` suggests after `text`, behind a block list if there is one."""
    return probing(model, *settings, **options)(text)


@reads_remote_of("probe")
def probing(
    model: str | os.PathLike[str], *settings: object, **options: Any
) -> Callable[[str], Probe]:
    """`probe` of a model that is loaded once and asked about many texts."""
    given = Given("probe", settings, options)
    asked = given.make(ProbeSettings)
    prober = open_prober(Path(model), asked.block_list, given.make(LoadingSettings))
    return partial(prober, top_k=asked.top_k, length=asked.length)
