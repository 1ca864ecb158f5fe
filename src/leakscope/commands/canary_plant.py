"""`canary plant`."""

import os
from functools import partial
from pathlib import Path
from typing import Any

from leakscope.auditing.canaries.canary_models import plain_model
from leakscope.canaries.canary_settings import PlantSettings
from leakscope.canaries.planting.planter import PlantJob
from leakscope.canaries.planting.planter import plant as plant_canaries
from leakscope.canaries.planting.row_sources import CorpusSource, DataSource
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.input_files import describe
from leakscope.corpus.manifest import InputFile
from leakscope.corpus.readers.input_settings import InputSettings
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.errors import LeakscopeError


@takes_options_of("canary plant", again=CanaryManifest.load)
def plant(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> CanaryManifest:
    """Plant canaries in a corpus directory or in a file of data, and write the planted corpus, the
    planted rows and `canaries.json` into the directory `out`.
    """
    given = Given("canary plant", settings, options)
    asked, path = given.make(PlantSettings), Path(source)
    real = None if asked.real is None else partial(plain_model, asked.real)
    if not (path / "lexicon.parquet").is_file():
        build = given.make(BuildSettings)
        how = given.make(InputSettings)
        origin = describe(path, how.format)
        rows = DataSource(path, how, build)
        job = PlantJob(rows, origin, asked, build, real, progress=progress)
        return plant_canaries(job, Path(out))
    told = (BuildSettings, InputSettings)
    objects = (given.object_of(BuildSettings), given.object_of(InputSettings))
    if any(given.fields_of(record) for record in told) or any(objects):
        raise LeakscopeError(
            f"{path} is a corpus, which has users, texts and a split already; leave out what tells "
            "how data is read."
        )
    corpus = Corpus.open(path)
    origin = InputFile(name=path.name, format="corpus", digest=corpus.manifest.digest)
    build = corpus.manifest.settings
    job = PlantJob(CorpusSource(corpus), origin, asked, build, real, corpus, progress)
    return plant_canaries(job, Path(out))
