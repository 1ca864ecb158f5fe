"""`study updates`."""

import os
import time
from pathlib import Path
from typing import Any

from leakscope.canaries.canary_settings import PlantSettings
from leakscope.commands.command_settings import TrainChoices
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.commands.study_mitigations import THREADS
from leakscope.commands.study_trainings import planned_trainings
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.records.received_files import refuse_special_files
from leakscope.records.studies.update_study_record import UpdateStudyRecord
from leakscope.studies.updates.update_directory import COMMAND, update_study_into
from leakscope.studies.updates.update_settings import UpdateStudySettings
from leakscope.studies.updates.update_study import UpdateStudyJob
from leakscope.updates.diff_settings import DiffSettings

CLASSES = ("all-low", "low-to-high", "mixed", "high-to-low")


@takes_options_of("study updates")
def updates(
    corpus: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> UpdateStudyRecord:
    """Update models in several ways, with canaries in what is added or with users taken away, and
    measure what the two models give away; into the directory `out`. Run again, also with more
    conditions, it makes only what is missing.
    """
    job = update_study_job(corpus, Given(COMMAND, settings, options))
    return update_study_into(job, Path(out), progress, time.perf_counter)


def update_study_job(corpus: str | os.PathLike[str], given: Given) -> UpdateStudyJob:
    """What was given, checked; threads are set."""
    asked = given.make(UpdateStudySettings)
    trainings = planned_trainings(given, COMMAND, asked.trainings, asked.mitigations)
    threads = given.make(TrainChoices).threads
    if asked.public_model is not None:
        refuse_special_files(asked.public_model)
    job = UpdateStudyJob(
        Corpus.open(Path(corpus)),
        tuple(trainings),
        asked,
        plant=given.make(
            PlantSettings, frequency=CLASSES, users=asked.per_class, controls=asked.controls
        ),
        diff=given.make(DiffSettings, threads=threads or THREADS),
    )
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    return job
