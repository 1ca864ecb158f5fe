"""What a diff would take, from the beginning of its search and of its ranks."""

import time
from contextlib import suppress
from pathlib import Path

from leakscope.auditing.forecasting.peak_memory import peak_memory
from leakscope.auditing.forecasting.rehearsal import SET_UP, START, EnoughError, Watch
from leakscope.auditing.updates.diff_plan import COUNT, RANK, SEARCH, search_rows, words_counted
from leakscope.auditing.updates.diff_run import DiffJob
from leakscope.auditing.updates.given_sequences import (
    GivenSequence,
    given_sequences,
    scored_sequences,
)
from leakscope.auditing.updates.kept_diff import kept_ranks, kept_rows
from leakscope.auditing.updates.known_beginnings import scored_behind
from leakscope.auditing.updates.opened_pair import OpenedPair
from leakscope.auditing.updates.update_search import known_prefix, search_update
from leakscope.engine.kept_chunks import NOWHERE, KeptChunks
from leakscope.models.interface import Prefix
from leakscope.records.runs.work_forecast import Forecast, ForecastStage, kept_said
from leakscope.updates.diff_settings import DiffSettings

ENOUGH = 3.0
"""Seconds of searching that are timed, and of ranking."""
COUNTED = 2e6
"""Words of the training data that are counted in a second, at the least."""
ROW, PAGE = 150, 40_000
"""Bytes of a sequence in files, and of a page, about."""


def diff_forecast(job: DiffJob, out: Path | None = None) -> Forecast:
    """Of `diff`. `out`: where a killed one may have left something."""
    settings = job.settings
    given = given_sequences(settings)
    begin = time.perf_counter()
    opened, data = job.opened()
    prefix = known_prefix(opened, settings)
    loaded = time.perf_counter() - begin
    stages = [ForecastStage(name=SET_UP, work="both models", seconds=START + loaded)]
    kept = NOWHERE if out is None else opened.kept_in(out)
    stages += pair_stages(opened, words_counted(data), settings, prefix, kept)
    if given:
        stages.append(_ranks(opened, given, settings, prefix, kept))
    listed = 0 if settings.no_search else settings.length * settings.keep
    spent = time.perf_counter() - begin
    return Forecast(
        stages=tuple(stages),
        memory=peak_memory(),
        disk=ROW * (listed + len(given)) + PAGE,
        notes=(f"Timed for {spent:.0f} seconds.",),
    )


def pair_stages(
    opened: OpenedPair,
    words: int,
    settings: DiffSettings,
    prefix: Prefix = (),
    kept: KeptChunks = NOWHERE,
) -> list[ForecastStage]:
    """To search, and to count what is found in so many words of training data."""
    stages = []
    if not settings.no_search:
        stages.append(_search(opened, settings, prefix, kept))
    if words:
        seconds = words / COUNTED
        stages.append(ForecastStage(name=COUNT, work=f"{words:,} words", seconds=seconds))
    return stages


def _search(
    opened: OpenedPair, settings: DiffSettings, prefix: Prefix, kept: KeptChunks
) -> ForecastStage:
    rows, watch, finished = search_rows(opened, settings, prefix), Watch(ENOUGH), False
    watch.start()
    with suppress(EnoughError):
        search_update(opened, settings, prefix, watch)
        finished = True
    seen = watch.seen(finished=finished)
    done = rows if finished else max(1, seen.stages[SEARCH].done)
    work = f"{rows:,} sequences are extended by {len(opened.pair.entries):,} entries each"
    left = rows - kept_rows(opened, settings, prefix, kept)
    work += kept_said(rows - left)
    return ForecastStage(name=SEARCH, work=work, seconds=seen.seconds * left / done)


def _ranks(
    opened: OpenedPair,
    given: list[GivenSequence],
    settings: DiffSettings,
    prefix: Prefix,
    kept: KeptChunks,
) -> ForecastStage:
    """The scores and ranks of as many of the given sequences as there is time for."""
    done, begin = 0, time.perf_counter()
    for each in given:
        # No rank is taken from a search here, which costs nothing once there is one.
        if each.canary and settings.known:
            scored_behind(opened, [each], settings, Watch(None))
        else:
            scored_sequences(opened, [each], settings, prefix, [], Watch(None))
        done += 1
        if time.perf_counter() - begin >= ENOUGH:
            break
    spent, left = (
        time.perf_counter() - begin,
        len(given) - kept_ranks(opened, given, settings, prefix, kept),
    )
    work = f"{len(given):,} sequences"
    work += kept_said(len(given) - left)
    return ForecastStage(name=RANK, work=work, seconds=spent * left / done)
