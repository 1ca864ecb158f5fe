"""`train --dry-run`."""

import os
from pathlib import Path
from typing import Any

from leakscope.auditing.forecasting.training_forecast import training_forecast
from leakscope.commands.given import Given
from leakscope.commands.remote_paths import local_output
from leakscope.commands.signatures import takes_options_of
from leakscope.commands.train import prepared_training
from leakscope.records.runs.work_forecast import Forecast
from leakscope.training.loop import kept_steps, starting_point


@takes_options_of("train")
def train(
    corpus: str | os.PathLike[str],
    *settings: object,
    out: str | Path | None = None,
    **options: Any,
) -> Forecast:
    """What a training would take, from a few seconds of it in a folder that is thrown away. `out`:
    where a killed one may have left a checkpoint.
    """
    asked = prepared_training(Path(corpus), Given("train", settings, options))
    place, chosen, done = local_output(out), asked.chosen, 0
    if place is not None:
        start = starting_point(chosen.warm_start, None, chosen.vocabulary_from)
        done = kept_steps(asked.corpus, place, asked.settings, start)
    return training_forecast(asked.corpus, asked.settings, asked.into, done, chosen.workers)
