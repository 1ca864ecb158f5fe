"""The training data of a study's models: a corpus without some users' text, or with canaries and
extra text added. Validation documents are the same in all of them.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from leakscope.canaries.canary_settings import PlantSettings
from leakscope.canaries.planting.placement import users_of
from leakscope.canaries.planting.row_sources import CorpusSource
from leakscope.canaries.planting.word_choices import frequent_words
from leakscope.corpus.building.builder import MANIFEST, build_rows, tidied_build
from leakscope.corpus.lexicon import Lexicon
from leakscope.corpus.manifest import InputFile, OriginFile
from leakscope.corpus.readers.rows import Origin, Row
from leakscope.corpus.split import TRAIN
from leakscope.corpus.store import Corpus
from leakscope.engine.progress import Progress
from leakscope.records.artifacts import digest_of
from leakscope.records.canaries.canary_manifest import CanaryManifest
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import is_unfinished
from leakscope.studies.kept_results import Step
from leakscope.studies.planned_training import PlannedTraining
from leakscope.training.vocabulary import known_words

POOL, DELETED = 1, 2
"""What is drawn by a seed, apart from each other."""


@dataclass(frozen=True)
class TextPart:
    """Some documents of a corpus."""

    corpus: Corpus
    keep: Callable[[Row], bool]
    made_from: dict[str, Any]
    """What decides which."""
    inputs: list[InputFile]
    """What a corpus of them says that its training text comes from, so that a private training
    knows whether a model has seen it."""

    def rows(self, origins: list[OriginFile]) -> Iterator[Row]:
        """In the order of the corpus. `origins`: the files of all parts."""
        places = [origins.index(file) for file in self.corpus.manifest.origins]
        for row in (each.row for each in CorpusSource(self.corpus).rows() if self.keep(each.row)):
            at = row.origin
            yield row if at is None else row._replace(origin=Origin(places[at.input], at.row))


def held_out(corpus: Corpus) -> TextPart:
    """The validation documents."""
    made_from = _of(corpus, "held out", ())
    return TextPart(corpus, lambda row: row.split != TRAIN, made_from, [])


def everything(corpus: Corpus) -> TextPart:
    """All documents."""
    return TextPart(corpus, lambda row: True, _of(corpus, "everything", ()), _whole(corpus))


def trained_without(corpus: Corpus, users: Collection[str]) -> TextPart:
    """All but the training documents of some users."""
    gone = frozenset(users)
    return TextPart(
        corpus,
        lambda row: row.split != TRAIN or row.user not in gone,
        _of(corpus, "without training text", gone),
        _whole(corpus),
    )


def without(corpus: Corpus, users: Collection[str]) -> TextPart:
    """All but what some users wrote."""
    gone = frozenset(users)
    made_from = _of(corpus, "without users", gone)
    return TextPart(corpus, lambda row: row.user not in gone, made_from, _whole(corpus))


def training_text(corpus: Corpus, users: Collection[str]) -> TextPart:
    """The training documents of some users, whom the first model never saw."""
    theirs = frozenset(users)
    made_from = _of(corpus, "training text", theirs)
    return TextPart(
        corpus,
        lambda row: row.split == TRAIN and row.user in theirs,
        made_from,
        _apart(corpus, made_from),
    )


def canaries_of(planted: Path) -> TextPart:
    """The canaries of a planted corpus; their texts stand nowhere else in it."""
    manifest, corpus = CanaryManifest.load(planted), Corpus.open(planted / "corpus")
    texts = frozenset(each.text for each in manifest.canaries if each.state == "planted")
    made_from = {"canaries": manifest.digest}
    return TextPart(
        corpus,
        lambda row: row.split == TRAIN and row.text in texts,
        made_from,
        _apart(corpus, made_from),
    )


def _whole(corpus: Corpus) -> list[InputFile]:
    """A corpus, and what it was made of."""
    digest = corpus.manifest.digest
    return [
        InputFile(name=corpus.path.name, format="corpus", digest=digest), *corpus.manifest.inputs,
    ]  # fmt: skip


def _apart(corpus: Corpus, made_from: dict[str, Any]) -> list[InputFile]:
    """Documents that models of the other documents never saw."""
    return [InputFile(name=corpus.path.name, format="corpus", digest=digest_of(made_from))]


def _of(corpus: Corpus, what: str, users: Collection[str]) -> dict[str, Any]:
    """Users go in by their digest alone."""
    manifest = corpus.manifest
    return {
        "corpus": manifest.digest,
        "lexicon": manifest.lexicon_digest,
        "documents": what,
        "users": digest_of(sorted(users)),
    }


def corpus_step(parts: list[TextPart], progress: Progress) -> Step:
    """A corpus of several parts, built as the first one's corpus was."""
    made_from = {"parts": [part.made_from for part in parts]}
    return Step("corpus", made_from, partial(_build, parts, progress), _is_whole)


def _build(parts: list[TextPart], progress: Progress, out: Path) -> None:
    if tidied_build(out):
        return
    origins = list(dict.fromkeys(file for part in parts for file in part.corpus.manifest.origins))
    build_rows(
        chain.from_iterable(part.rows(origins) for part in parts),
        out,
        inputs=[given for part in parts for given in part.inputs],
        origins=origins,
        settings=parts[0].corpus.manifest.settings,
        split_given=True,
        progress=progress,
    )


def _is_whole(path: Path) -> bool:
    return (path / MANIFEST).exists() and not is_unfinished(path)


def drawn_users(corpus: Corpus, count: int, seed: int, purpose: int, option: str) -> list[str]:
    """So many of the users with training documents, in random order. At least one is left."""
    keys = users_of(corpus).keys
    if not 0 < count < len(keys):
        raise LeakscopeError(
            f"There are {len(keys)} users with training documents, which is too few for {option}; "
            "choose another, or give more text."
        )
    order = np.random.default_rng([seed, purpose]).permutation(len(keys))[:count]
    return [keys[place] for place in order.tolist()]


def pool_of(corpus: Corpus, share: float, seed: int) -> list[str]:
    """The users of the pool, in random order; without a share there are none."""
    count = round(share * len(users_of(corpus).keys))
    return drawn_users(corpus, count, seed, POOL, "--pool") if share else []


def of_pool(pool: list[str], share: float) -> list[str]:
    """The first users of a pool: at least one for any share above 0."""
    return pool[: max(1, round(share * len(pool)))] if share else []


def planting(
    base: Corpus, settings: PlantSettings, trainings: tuple[PlannedTraining, ...], times: int
) -> PlantSettings:
    """The settings with which canaries are planted so many times, of words that all models know."""
    known = [
        known_words(base.lexicon, each.settings.vocabulary, each.settings.vocabulary_users)
        for each in trainings
    ]
    words = min(_all_known(base.lexicon, set(each)) for each in known)
    if words < 2:
        raise LeakscopeError("The models know too few words to draw canaries from.")
    return replace(settings, vocabulary=words, schedule=str(times))


def _all_known(lexicon: Lexicon, known: set[str]) -> int:
    """How many of the most frequent words of letters a model knows before the first that it does
    not.
    """
    return sum(1 for _ in takewhile(known.__contains__, frequent_words(lexicon, len(lexicon))))
