"""The public model is asked by a stage: the same answers, in pieces that are kept."""

import numpy as np
import pytest

from leakscope.engine.local_engine import LocalEngine
from leakscope.engine.progress import silent
from leakscope.leakage.scrutiny.public_stage import LoadedOnce, PublicJudge
from leakscope.leakage.scrutiny.public_surprise import PublicModel, public_answers
from leakscope.leakage.sequences import documents_by_number
from leakscope.leakage.sequences.members import Members
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.records.documents import Scores
from leakscope.records.models.public_model import GivenModelRecord


class KilledError(Exception):
    pass


class Plain:
    """Answers by the words before; predicts words of even ids. Notes what it is asked for."""

    def __init__(self, needs_text=False, patience=None):
        self.needs_text, self.patience, self.asked = needs_text, patience, []

    def _note(self, documents):
        if self.patience is not None and len(self.asked) >= self.patience:
            raise KilledError
        assert (documents.texts is not None) == self.needs_text
        self.asked += documents.numbers.tolist()

    def log_probs(self, documents, wanted):
        self._note(documents)
        sums = [np.cumsum(documents.words_of(i)) for i in range(len(documents))]
        return -np.concatenate(sums)[wanted].astype(np.float32)

    def score(self, documents, *, top_k):
        self._note(documents)
        rank = np.where(documents.ids % 2, top_k, 0).astype(np.int32)
        nothing = np.zeros(len(rank), np.float32)
        return Scores(rank, nothing, nothing, np.zeros(len(rank), np.bool_))


@pytest.fixture
def corpus(make_corpus):
    rng = np.random.default_rng(0)
    rows = [
        (f"u{place % 5}", " ".join(rng.choice(list("abcdefg"), rng.integers(2, 9)).tolist()))
        for place in range(40)
    ]
    return make_corpus(rows, shard_words=50)


def members_of(corpus, seed=1):
    """Two runs of each second document, drawn."""
    rng = np.random.default_rng(seed)
    numbers, starts, lengths = [], [], []
    for chunk in corpus.documents():
        for number, size in zip(chunk.numbers[::2], chunk.lengths()[::2], strict=True):
            for start in sorted(rng.integers(0, size, 2).tolist()):
                numbers.append(number)
                starts.append(start)
                lengths.append(rng.integers(1, size - start + 1))
    size = len(numbers)
    return Members(
        nodes=np.zeros(size, np.int32),
        users=np.zeros(size, np.int32),
        documents=np.array(numbers, np.int64),
        starts=np.array(starts, np.int32),
        lengths=np.array(lengths, np.int32),
        perplexities=np.ones(size, np.float32),
        copied=np.zeros(size, np.bool_),
        near_tie=np.zeros(size, np.bool_),
    )


def judge_of(model, corpus, work, digest="d"):
    record = GivenModelRecord(name="plain", digests=(digest,))
    public = PublicModel(record, lambda: model, AnswerIdentity(digest))
    return PublicJudge.of(public, corpus, work, LocalEngine(), silent)


@pytest.mark.parametrize("words", [1, 30, 10**6])
@pytest.mark.parametrize("needs_text", [False, True])
def test_answers_and_predictions_by_stage(corpus, tmp_path, monkeypatch, words, needs_text):
    monkeypatch.setattr(documents_by_number, "PIECE_WORDS", words)
    members = members_of(corpus)
    chosen = np.flatnonzero(np.arange(len(members)) % 3)
    model = Plain(needs_text)
    judge = judge_of(model, corpus, tmp_path)
    found, wanted = (
        judge.answers(members, chosen),
        public_answers(model, corpus.documents(texts=needs_text), members, chosen),
    )
    assert np.array_equal(found.log_probs, wanted.log_probs)
    assert np.array_equal(found.offsets, wanted.offsets) and found.members is chosen
    documents = {
        int(number): chunk.words_of(place)
        for chunk in corpus.documents()
        for place, number in enumerate(chunk.numbers)
    }
    plain = [
        (documents[int(members.documents[i])][members.starts[i] :][: members.lengths[i]] % 2 == 0)
        for i in chosen
    ]
    assert judge.predictions(members, chosen, 3).tolist() == [bool(each.all()) for each in plain]
    assert len(judge.answers(members, chosen[:0]).log_probs) == 0


def test_killed_and_asked_again_only_for_what_is_missing(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(documents_by_number, "PIECE_WORDS", 30)
    members, first = members_of(corpus), Plain(patience=6)
    chosen = np.arange(len(members))
    with pytest.raises(KilledError):
        judge_of(first, corpus, tmp_path).answers(members, chosen)
    second = Plain()
    found = judge_of(second, corpus, tmp_path).answers(members, chosen)
    wanted = public_answers(Plain(), corpus.documents(), members, chosen)
    assert np.array_equal(found.log_probs, wanted.log_probs)
    assert not set(first.asked) & set(second.asked)
    assert sorted(first.asked + second.asked) == np.unique(members.documents).tolist()
    third = Plain(patience=0)
    judge_of(third, corpus, tmp_path).answers(members, chosen)
    for other in (judge_of(third, corpus, tmp_path, "another"), judge_of(third, corpus, tmp_path)):
        with pytest.raises(KilledError):  # another model, or other places
            other.answers(members, chosen if other.record.digests == ("another",) else chosen[1:])


def test_a_model_is_loaded_once_in_a_process():
    loads = []
    load = LoadedOnce(lambda: loads.append(1) or Plain())
    assert load() is load() and loads == [1]
    assert isinstance(load.__reduce__()[0](Plain)(), Plain)
