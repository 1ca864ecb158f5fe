"""`train --dry-run`."""

import os
from pathlib import Path
from typing import Any

from leakscope.auditing.forecasting.training_forecast import training_forecast
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.commands.train import prepared_training
from leakscope.records.runs.work_forecast import Forecast


@takes_options_of("train")
def train(
    corpus: str | os.PathLike[str],
    *settings: object,
    **options: Any,
) -> Forecast:
    """What a training would take, from a few seconds of it in a folder that is thrown away."""
    asked = prepared_training(Path(corpus), Given("train", settings, options))
    return training_forecast(asked.corpus, asked.settings, asked.into)
