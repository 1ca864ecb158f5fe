"""Corpora whose rows say which documents are held out, and the decoys that a model shows there."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.corpus.store import Corpus
from leakscope.engine.local_engine import LocalEngine
from leakscope.leakage.chance.decoys import Decoys
from leakscope.leakage.chance.held_out_runs import HeldOutRuns
from leakscope.leakage.correct_runs.corpus_scoring import CorpusScoring
from leakscope.leakage.sequences.counted import SequenceCounting
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.records.runs.report_settings import ReportSettings
from small_models import repeated_by

SplitRow = tuple[str, list[str], str]
"""User, words, split."""


def corpus_of(rows: Iterable[SplitRow], out: Path) -> Corpus:
    """A corpus with this split."""
    made = [Row(user, " ".join(words), split=split) for user, words, split in rows]
    return build_rows(made, out, settings=BuildSettings(), split_given=True)


def split_rows(model, share: float, documents: int = 120, seed: int = 3) -> list[SplitRow]:
    """Rows of text that the model predicts in long runs; a share of them, drawn, is held out."""
    rng = np.random.default_rng(seed)
    return [
        (user, text.split(), VALIDATION if rng.random() < share else TRAIN)
        for user, text in repeated_by(model, users=12, documents=documents, length=20, seed=seed)
    ]


def decoys_of(model, corpus: Corpus, folder: Path, k: int) -> Decoys:
    """What a report finds for decoys, in this process; `model` is one before it reads a corpus."""
    engine, load = LocalEngine(), lambda: model.reading(corpus.lexicon)
    scoring, asked = CorpusScoring(corpus, folder, engine, lambda *_: None), ReportSettings(top_k=k)
    counted, _ = SequenceCounting(corpus, folder, engine).count(
        scoring.score(AnswerIdentity("m"), load, asked, 1000)
    )
    heard = HeldOutRuns(scoring, AnswerIdentity("m"), load, 1000, engine)
    return heard.decoys(asked, counted, corpus.counts().words).value


def spelled(found: Decoys, corpus: Corpus) -> list[tuple[str, tuple[str, ...]]]:
    """[d] the user's key and the words of each."""
    held, members = corpus.load(VALIDATION), found.members
    index = {int(number): place for place, number in enumerate(held.numbers)}
    keys = {user: key for shard in corpus.shards for user, key in shard.user_keys().items()}
    runs = []
    for member in found.chosen.tolist():
        words = corpus.lexicon.spell(held.words_of(index[int(members.documents[member])]))
        start, length = int(members.starts[member]), int(members.lengths[member])
        runs.append((keys[int(members.users[member])], tuple(words[start : start + length])))
    return runs
