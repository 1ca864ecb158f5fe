"""Kinds of files at a URL, and in the cache of what is at a URL."""

import os
from pathlib import Path
from typing import Any

from trials.flips import answers
from trials.flips.kinds import Kind
from trials.forked import command, forked
from trials.kills.moments import Boundary, killed_at
from trials.material import Material, still
from trials.served_folder import ServedFolder

OPTIONS = ("--threads", 1, "--top-k", 3)


def remote_kinds(made: Material, place: ServedFolder) -> list[Kind]:
    """Objects of every artifact, and copies of them."""
    corpus, model = _of_report(made, place, "corpus"), _of_report(made, place, "model")
    kept = _of_cache(place, lambda: _report(place, made.model, made.corpus))
    url, anything = place.url, ("*", "*/*")
    return [
        Kind("s3: corpus", lambda: made.corpus, anything, corpus, 60, spelled=url),
        Kind("s3: model", lambda: made.model, ("*",), model, 60, spelled=url),
        Kind("s3: run", lambda: made.run, anything, _of_run(place), 60, spelled=url),
        Kind("s3: files of the cache", lambda: _fetched(made, place), FETCHED, kept, 50, False),
        Kind("s3: states of the cache", lambda: _fetched(made, place), STATES, kept, 30, False),
        Kind("s3: run before it is uploaded", lambda: _ready(made, place), READY, kept, 50, False),
    ]


FETCHED = ("remote/*/files/**/*",)
STATES = ("remote/*/mirror.json",)
READY = ("remote/*case%2Frun*/files/run/*",)


def _report(place: ServedFolder, model: Path, corpus: Path) -> tuple[object, ...]:
    return ("report", *place.urls((model, corpus, *OPTIONS, "--out", place.case / "run")))


def _of_report(made: Material, place: ServedFolder, what: str) -> answers.Answer:
    """The report of a model and a corpus at URLs, one of which is spoilt."""

    def answer(spoilt: Path) -> Any:
        model, corpus = (spoilt, made.corpus) if what == "model" else (made.model, spoilt)
        arguments = _report(place, model, corpus)
        return answers.ended_well(*arguments, then=lambda: answers.files(place.case / "run"))

    return answer


def _of_run(place: ServedFolder) -> answers.Answer:
    def answer(run: Path) -> Any:
        import leakscope

        opened = leakscope.open_run(place.url(run))
        records = [each.model_dump(mode="json") for each in (opened.manifest, opened.metrics)]
        tables = (opened.sequences(), opened.occurrences(), opened.users())
        shown = repr(leakscope.suggest(place.url(run))), repr(leakscope.compare(place.url(run)))
        return [records, [repr(each.to_pylist()) for each in tables], shown]

    return answer


def _of_cache(place: ServedFolder, arguments: Any) -> answers.Answer:
    """A report that finds this cache."""

    def answer(cache: Path) -> Any:
        os.environ["LEAKSCOPE_CACHE"] = str(cache)
        return answers.ended_well(*arguments(), then=lambda: answers.files(place.case / "run"))

    return answer


def _fetched(made: Material, place: ServedFolder) -> Path:
    """A cache that has a corpus and a model."""

    def read() -> None:
        import leakscope

        leakscope.corpus.info(place.url(made.corpus))
        leakscope.probe(place.url(made.model), "hello")

    cache = place.made / "fetched"
    if not cache.exists():
        made.corpus, made.model  # noqa: B018 (they are made)
        ended = forked(_with_cache(cache, read))
        if ended.code != 0:
            raise RuntimeError(ended.err)
    return cache


def _ready(made: Material, place: ServedFolder) -> Path:
    """A cache with a finished run of which nothing is uploaded yet. It is made where its copies
    will be: a command is known again by its paths, too.
    """
    cache, there = place.made / "ready", place.case / "it"
    if not cache.exists():
        work = still(command(*_report(place, made.model, made.corpus)))
        ended = forked(_with_cache(there, killed_at(work, Boundary(0, after=False), uploads=True)))
        if ended.code != -9:
            raise RuntimeError(f"nothing was uploaded: {ended.code}, {ended.err}")
        there.rename(cache)
        place.clear()
    return cache


def _with_cache(cache: Path, work: Any) -> Any:
    def run() -> Any:
        os.environ["LEAKSCOPE_CACHE"] = str(cache)
        return work()

    return run
