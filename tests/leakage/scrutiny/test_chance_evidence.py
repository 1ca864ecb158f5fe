"""Held-out decoys: ratios are to the public model, and whether they come out without memory is said
by the one that had come just as far.
"""

import numpy as np
import pytest

from leakscope.engine.local_engine import LocalEngine
from leakscope.engine.progress import silent
from leakscope.leakage.chance.decoys import Decoys, HeldOutShare
from leakscope.leakage.scrutiny.chance_evidence import HeldOutEvidence, StandInEvidence
from leakscope.leakage.scrutiny.public_stage import PublicJudge
from leakscope.leakage.scrutiny.public_surprise import PublicModel, public_answers
from leakscope.leakage.sequences.members import Members
from leakscope.models.answer_identity import AnswerIdentity
from leakscope.records.documents import Scores
from leakscope.records.measured import Measured
from leakscope.records.models.public_model import (
    CrossFittedModelRecord,
    GivenModelRecord,
    RetrainedModelRecord,
    StageRecord,
)


class ByParity:
    """Predicts the words whose ids are even, or odd; surer of all by its number."""

    needs_text = False

    def __init__(self, parity):
        self.parity = parity

    def log_probs(self, documents, wanted):
        return np.full(int(wanted.sum()), -1.0 - self.parity, np.float32)

    def score(self, documents, *, top_k):
        rank = np.where(documents.ids % 2 == self.parity, 0, top_k).astype(np.int32)
        nothing = np.zeros(len(rank), np.float32)
        return Scores(rank, nothing, nothing, np.zeros(len(rank), np.bool_))


@pytest.fixture
def corpus(make_corpus):
    rng = np.random.default_rng(0)
    rows = [(f"u{i % 5}", " ".join(rng.choice(list("abcdefg"), 6).tolist())) for i in range(60)]
    return make_corpus(rows, validation=0.5)


@pytest.fixture
def decoys(corpus):
    """The first word of each held-out document."""
    held = corpus.held_out_as_training()
    numbers = np.concatenate([chunk.numbers for chunk in held.documents()]).astype(np.int64)
    size = len(numbers)
    zeros, flags = np.zeros(size, np.int32), np.zeros(size, np.bool_)
    ones = np.ones(size, np.float32)
    members = Members(zeros, zeros, numbers, zeros, zeros + 1, ones, flags, flags)
    words = np.zeros(corpus.manifest.lexicon, np.bool_)
    share = HeldOutShare(held_out=1, trained=1)
    chosen = np.arange(size)
    return Decoys(members, chosen, ~flags, np.ones(size), flags, flags, words, share, 0.0)


def alike_of(parity, name):
    record = CrossFittedModelRecord(name="c", digests=("end",))
    return PublicModel(record, lambda: ByParity(parity), AnswerIdentity(name))


def judged(decoys, corpus, work, record, alike):
    model = PublicModel(record, lambda: ByParity(0), AnswerIdentity("end"), alike)
    judge = PublicJudge.of(model, corpus, work, LocalEngine(), silent)
    return HeldOutEvidence(Measured(decoys)).judged(judge, 3)


def test_the_model_of_the_same_stage_says_what_comes_out_without_memory(corpus, decoys, tmp_path):
    stage = StageRecord(snapshot="epoch-002", epochs=(2.0,), digests=("then",))
    record = CrossFittedModelRecord(name="c", digests=("end",), stage=stage)
    found = judged(decoys, corpus, tmp_path, record, alike_of(1, "then"))
    held = corpus.held_out_as_training()
    firsts = np.concatenate(
        [[chunk.words_of(i)[0] for i in range(len(chunk))] for chunk in held.documents()]
    )
    assert 0 < (firsts % 2).sum() < len(firsts)
    assert found.opinion.predicts.tolist() == (firsts % 2 == 1).tolist()
    said = public_answers(ByParity(0), held.documents(), decoys.members, decoys.chosen)
    assert np.allclose(found.opinion.ratios, said.perplexities())
    assert found.doubts == ()


@pytest.mark.parametrize("how", ["finished", "not kept", "given"])
def test_who_speaks_where_there_is_no_other_stage(corpus, decoys, tmp_path, how):
    stage = StageRecord(snapshot="epoch-002", epochs=(), digests=())
    record, alike = {
        "finished": (CrossFittedModelRecord(name="c", digests=("end",)), alike_of(0, "end")),
        "not kept": (CrossFittedModelRecord(name="c", digests=("end",), stage=stage), None),
        "given": (GivenModelRecord(name="g", digests=("end",)), None),
    }[how]
    found = judged(decoys, corpus, tmp_path, record, alike)
    assert (found.opinion.predicts is None) == (how != "finished")
    assert bool(found.doubts) == (how == "not kept")


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (CrossFittedModelRecord(name="c", digests=("end",), folds=2), "50% of the users"),
        (CrossFittedModelRecord(name="c", digests=("end",), folds=3), None),
        (RetrainedModelRecord(name="r", digests=("end",), users_left_out=4), "20% of the users"),
        (RetrainedModelRecord(name="r", digests=("end",), users_left_out=1), None),
    ],
)
def test_public_models_that_have_seen_few_users_are_told(corpus, decoys, tmp_path, record, told):
    found = judged(decoys, corpus, tmp_path, record, alike_of(0, "end"))
    assert corpus.counts().users == 5
    assert [told in doubt for doubt in found.doubts] == ([] if told is None else [True])
    assert judged(decoys, corpus, tmp_path, record, None).doubts == ()


def test_stand_ins_that_have_seen_few_users_are_told():
    for folds, told in ((2, "50% of the users"), (3, "67% of the users"), (4, None)):
        found = StandInEvidence(None, 100, folds).doubts
        assert [told in doubt for doubt in found] == ([] if told is None else [True])
