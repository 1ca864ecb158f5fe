"""Where some users are audited, chance is measured on their own held-out documents."""

from dataclasses import replace

import numpy as np
import pytest

from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.leakage.chance.held_out_runs import NONE_OF_THESE
from leakscope.leakage.pipeline import audit
from leakscope.records.runs.report_settings import AuditedUsers, ReportSettings
from small_models import repeated_by, sharp_model
from subjects import subject_of

WORDS = [first + second for first in "bdgkmnrt" for second in "aeiou"]


@pytest.fixture
def report_on(tmp_path):
    """A function that reports on some users of a corpus by their numbers, or on all."""

    def make(corpus, model, users, **changes):
        chosen = None if users is None else np.array(users, np.int32)
        audited = None if users is None else AuditedUsers(len(users), "d")
        settings = ReportSettings(top_k=2, audited=audited, **changes)
        subject = subject_of(lambda: model.reading(corpus.lexicon))
        out = tmp_path / f"run-{users}-{len(changes)}"
        return audit(replace(subject, users=chosen), corpus, out, settings)

    return make


def test_the_parts_add_up_to_the_whole(make_corpus, report_on):
    model = sharp_model("gru", WORDS, 1)
    corpus = make_corpus(repeated_by(model, users=9, documents=300, length=12), validation=0.3)
    whole = report_on(corpus, model, None)
    parts = [report_on(corpus, model, users) for users in ([0, 1], [2, 3, 4], [5, 6, 7, 8])]
    assert sum(part.decoys for part in parts) == whole.decoys > 20
    assert sum(part.decoy_words for part in parts) == whole.decoy_words
    assert sum(part.unique_sequences for part in parts) == whole.unique_sequences
    assert sum(part.chance_unique for part in parts) == pytest.approx(whole.chance_unique, rel=0.1)
    words = parts[2].decoy_words
    some = report_on(corpus, model, [5, 6, 7, 8], decoy_words=words // 2)
    assert 0.3 * words < some.decoy_words < 0.7 * words


def test_without_held_out_documents_of_theirs_it_is_null_and_says_so(tmp_path, report_on):
    split = [VALIDATION if n < 5 else TRAIN for n in range(9)]
    rows = [Row(f"u{n}", " ".join(WORDS[:9]), split=split[n]) for n in range(9)]
    corpus = build_rows(rows, tmp_path / "corpus", settings=BuildSettings(), split_given=True)
    trained = sorted(set(corpus.load().users.tolist()))
    metrics = report_on(corpus, sharp_model("gru", WORDS), trained[:2])
    assert metrics.chance_unique is None is metrics.confirmed_unique
    assert metrics.reasons["chance_unique"] == NONE_OF_THESE
