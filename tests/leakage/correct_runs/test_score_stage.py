"""D is scored in pieces: each kept, told of, and never asked for again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leakscope.auditing.report_job import ReportJob
from leakscope.auditing.running_settings import RunningSettings
from leakscope.corpus.split import ALL, TRAIN
from leakscope.leakage import pipeline
from leakscope.leakage.correct_runs.score_stage import Piece, pieces_of
from leakscope.leakage.pipeline import audit
from leakscope.models.word.architecture import Architecture
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.training.loop import train
from leakscope.training.train_settings import TrainSettings
from small_models import repeated_by, sharp_model
from subjects import subject_of

FEW = ReportSettings(least_context=0)
WORDS = ["a", "b", "c", "d", "e", "f"]
TABLES = ("sequences.parquet", "occurrences.parquet", "users.parquet", "metrics.json")


@pytest.fixture
def corpus(make_corpus):
    """40 documents of 12 words in two shards, a tenth held out."""
    rows = repeated_by(sharp_model("gru", WORDS, 3), 8, 40, 12)
    return make_corpus(rows, shard_words=250, validation=0.2)


def files(run: Path) -> dict[str, bytes]:
    return {name: (run / name).read_bytes() for name in TABLES}


@pytest.mark.parametrize("training", [TRAIN, ALL])
@pytest.mark.parametrize("words", [1, 30, 100, 10**6])
def test_pieces_are_all_of_d_in_its_order(corpus, training, words):
    seen = corpus.trained_on(training)
    pieces = pieces_of(seen, words)
    numbers = []
    for piece in pieces:
        group = seen.shards[piece.shard].group(piece.group).part(piece.start, piece.stop)
        assert len(group.ids) == piece.words <= max(words, 12)
        numbers += group.numbers.tolist()
    assert numbers == seen.load().numbers.tolist()
    assert len(numbers) == (40 if training == ALL else corpus.manifest.train.documents) < 41
    assert len(corpus.shards) == 2 and isinstance(pieces[0], Piece)


class KilledError(Exception):
    pass


class Asked:
    """A model that notes which documents it is asked for in the first stage, and can be killed."""

    needs_text = False

    def __init__(self, model, patience=None):
        self.model, self.patience, self.numbers = model, patience, []

    def __getattr__(self, name):
        return getattr(self.model, name)

    def score(self, documents, *, top_k, every_probability=False):
        if not every_probability:
            if self.patience is not None and len(self.numbers) >= self.patience:
                raise KilledError
            self.numbers += documents.numbers.tolist()
        return self.model.score(documents, top_k=top_k, every_probability=every_probability)


def test_killed_within_a_shard_only_what_is_missing_is_asked_for(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "SLOW_PIECE_WORDS", 40)
    model = sharp_model("gru", WORDS, 3).reading(corpus.lexicon)
    settings, told = ReportSettings(top_k=2, reveal=True, least_context=0, decoy_words=0), []

    def progress(stage, done, total=None, note=""):
        if stage == "score":
            told.append((done, total, note))

    def run(asked, out):
        audit(subject_of(lambda: asked), corpus, out, settings, progress=progress)
        return asked.numbers

    everything = run(Asked(model), tmp_path / "whole")
    words = corpus.manifest.train.words
    assert everything == corpus.load().numbers.tolist()
    assert len(told) > 8 and told[0] == (0, words, "words") and told[-1] == (words, words, "words")
    first = Asked(model, patience=8)  # in the middle of the first shard
    with pytest.raises(KilledError):
        run(first, tmp_path / "r")
    held = sum(len(part) for part in corpus.shards[0].documents())
    assert 0 < len(first.numbers) < held
    told.clear()
    rest = run(Asked(model), tmp_path / "r")
    assert told[0][0] == 12 * len(first.numbers)  # the bar begins where it was
    assert first.numbers + rest == everything
    assert files(tmp_path / "r") == files(tmp_path / "whole")
    assert not (tmp_path / "r" / ".work").exists()


def test_another_part_is_another_piece(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "SLOW_PIECE_WORDS", 40)
    model = sharp_model("gru", WORDS, 3).reading(corpus.lexicon)
    with pytest.raises(KilledError):
        audit(subject_of(lambda: Asked(model, patience=8)), corpus, tmp_path / "r", FEW)
    second = Asked(model)
    every = replace(FEW, trained_on="all")
    found = audit(subject_of(lambda: second), corpus, tmp_path / "r", every)
    assert second.numbers == corpus.trained_on(ALL).load().numbers.tolist()
    assert found.words == 480 and found.documents == 40


def test_workers_share_the_pieces_of_a_shard(corpus, tmp_path, monkeypatch):
    tiny = TrainSettings(Architecture("gru", 1, 4, 6), vocabulary=50, epochs=1, batch_size=4)
    train(corpus, tmp_path / "m", tiny)
    for name, workers, words in (("one", 1, 10**6), ("cut", 1, 100), ("two", 2, 100)):
        monkeypatch.setattr(pipeline, "PIECE_WORDS", words)
        job = ReportJob(corpus, ReportSettings(top_k=2), running=RunningSettings(workers=workers))
        told = []
        job.prepared().report(
            tmp_path / "m", tmp_path / name, lambda *said, told=told: told.append(said)
        )
        scored = [done for stage, done, *_ in told if stage == "score"]
        assert scored == sorted(scored) and scored[-1] == corpus.manifest.train.words
        assert (len(scored) > 4) == (words == 100)
    assert files(tmp_path / "cut") == files(tmp_path / "two")
    assert files(tmp_path / "one")["users.parquet"] == files(tmp_path / "cut")["users.parquet"]
    # In what order documents are batched shows at most in the last bits of probabilities, on some
    # processors.
    one, cut = (pq.read_table(tmp_path / name / "sequences.parquet") for name in ("one", "cut"))
    for name in one.column_names:
        mine, theirs = (table[name].combine_chunks() for table in (one, cut))
        while pa.types.is_list(mine.type) or pa.types.is_large_list(mine.type):
            assert mine.offsets == theirs.offsets
            mine, theirs = mine.values, theirs.values
        if pa.types.is_floating(mine.type):
            both = [np.array(each.to_pylist(), np.float64) for each in (mine, theirs)]  # null: NaN
            np.testing.assert_allclose(*both, rtol=1e-5)
        else:
            assert mine == theirs
