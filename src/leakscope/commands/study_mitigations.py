"""`study mitigations`."""

import os
import time
from pathlib import Path
from typing import Any

from leakscope.canaries.canary_settings import AttackSettings, ExposureSettings, PlantSettings
from leakscope.commands.command_settings import TrainChoices
from leakscope.commands.given import Given
from leakscope.commands.signatures import takes_options_of
from leakscope.commands.study_trainings import planned_trainings
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress, silent
from leakscope.records.studies.study_record import StudyRecord
from leakscope.studies.mitigation_directory import COMMAND, study_into
from leakscope.studies.mitigation_job import StudyJob
from leakscope.studies.study_settings import StudySettings

THREADS = 2


@takes_options_of("study mitigations")
def mitigations(
    corpus: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *settings: object,
    progress: Progress = silent,
    **options: Any,
) -> StudyRecord:
    """Train with and without mitigations until they are equally useful, and measure what each gives
    away; into the directory `out`. Run again, also with more seeds or targets, it makes only what
    is missing.
    """
    job = study_job(corpus, Given(COMMAND, settings, options))
    return study_into(job, Path(out), progress, time.perf_counter)


def study_job(corpus: str | os.PathLike[str], given: Given) -> StudyJob:
    """What was given, checked; threads are set."""
    asked = given.make(StudySettings)
    trainings = planned_trainings(given, COMMAND, asked.trainings)
    vocabulary = min(each.settings.vocabulary for each in trainings)
    threads = given.make(TrainChoices).threads
    job = StudyJob(
        Corpus.open(Path(corpus)),
        tuple(trainings),
        asked,
        plant=given.make(PlantSettings, vocabulary=vocabulary),
        exposure=given.make(ExposureSettings),
        attack=given.make(AttackSettings),
        threads=threads or THREADS,
    )
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    return job
