"""`corpus build --dry-run` and `corpus clean --dry-run`."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from leakscope.auditing.forecasting.build_forecast import BuildForecaster
from leakscope.auditing.forecasting.clean_forecast import clean_forecast
from leakscope.commands.corpus_build import prepared_build
from leakscope.commands.given import Given
from leakscope.commands.remote_paths import free_output, local_output
from leakscope.commands.signatures import takes_options_of
from leakscope.corpus.cleaning.clean_settings import CleanSettings
from leakscope.corpus.store import Corpus
from leakscope.records.runs.work_forecast import Forecast


@takes_options_of("corpus build")
def corpus_build(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *settings: object,
    out: str | Path | None = None,
    **options: Any,
) -> Forecast:
    """What a build would take, from builds of the beginning of the input in a folder that is thrown
    away. `out`: where an earlier attempt may have left something.
    """
    asked = prepared_build(inputs, Given("corpus build", settings, options))
    free_output(out, "corpus build")
    return BuildForecaster(*asked).forecast(local_output(out))


@takes_options_of("corpus clean")
def corpus_clean(
    corpus: str | os.PathLike[str],
    *settings: object,
    out: str | Path | None = None,
    **options: Any,
) -> Forecast:
    """What cleaning would take, from cleaning a sample of the corpus in a folder that is thrown
    away. It is that of all of the work, also if a killed one has left some in `out`.
    """
    asked = Given("corpus clean", settings, options).make(CleanSettings)
    free_output(out, "corpus clean")
    return clean_forecast(Corpus.open(Path(corpus)), asked)
