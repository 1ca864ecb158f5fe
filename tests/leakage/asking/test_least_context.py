"""The least context against trying every suffix of every context, one call a prefix."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from leakscope.leakage.asking.other_contexts import _changed
from leakscope.leakage.pipeline import audit
from leakscope.records.runs.report_settings import ReportSettings
from small_models import SMALL, repeated_by, sharp_model
from subjects import subject_of

WORDS = ["a", "b", "c", "d", "e", "f", "g"]


def brings_out(model, prompt, sequence, k):
    for place in range(len(sequence)):
        after = model.next([*prompt, *sequence[:place]])
        if sequence[place] not in [after.entries[i] for i in after.order(k)]:
            return False
    return True


def least_by_hand(model, contexts, sequence, k):
    suffixes = {tuple(c[len(c) - n :]) for c in contexts for n in range(len(c) + 1)}
    return min(len(s) for s in suffixes if brings_out(model, list(s), sequence, k))


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("k", [2, 3])
def test_least_context_equals_brute_force(kind, k, make_corpus, tmp_path):
    model = sharp_model(kind, WORDS, 4)
    corpus = make_corpus(repeated_by(model, 12, 24, 14))
    asked = ReportSettings(top_k=k, reveal=True, contexts=100, context_words=100, elsewhere=600)
    subject = subject_of(lambda: model.reading(corpus.lexicon))
    metrics = audit(subject, corpus, tmp_path / "run", asked)
    rows = pq.read_table(tmp_path / "run" / "sequences.parquet").to_pylist()
    unique = [row for row in rows if row["users_in_d"] == 1]
    assert len(unique) > 3
    for row in unique:
        expected = least_by_hand(model.precise, row["contexts"], row["sequence"], k)
        assert row["least_context"] == expected and row["least_context_exact"]
        assert row["least_context"] <= min(row["context_lengths"])
        assert 0 <= row["elsewhere_out"] <= row["elsewhere_tried"]
    assert metrics.unique_without_context == sum(row["least_context"] == 0 for row in unique)
    assert all(row["least_context"] is None for row in rows if row["users_in_d"] > 1)
    tried = sum(kind["tried"] for kind in metrics.elsewhere.values())
    assert tried == sum(row["elsewhere_tried"] for row in unique) <= 600
    assert sum(kind["out"] for kind in metrics.elsewhere.values()) > 0


def test_how_many_contexts_are_shown_does_not_change_what_is_measured(make_corpus, tmp_path):
    model = sharp_model("lstm", WORDS, 4)
    corpus = make_corpus(repeated_by(model, 2, 60, 14))
    subject = subject_of(lambda: model.reading(corpus.lexicon))
    found = []
    for shown in (1, 100):
        out = tmp_path / f"run-{shown}"
        audit(subject, corpus, out, ReportSettings(top_k=3, contexts=shown))
        table = pq.read_table(out / "sequences.parquet")
        found.append((table["least_context"].to_pylist(), table["least_context_exact"].to_pylist()))
    assert found[0] == found[1] and any(least is not None for least in found[0][0])


def test_other_contexts_are_what_they_claim_to_be():
    rng = np.random.default_rng(0)
    context, others = tuple(range(10, 22)), [(1, tuple(range(50, 70))), (7, tuple(range(90, 99)))]
    for _ in range(300):
        cut = _changed("truncated", context, 1, others, 100, rng)
        assert len(cut) < len(context) and context[len(context) - len(cut) :] == cut
        reworded = _changed("reworded", context, 1, others, 100, rng)
        assert reworded != context and len(reworded) <= len(context)
        foreign = _changed("others", context, 1, others, 100, rng)
        assert foreign == tuple(range(90, 99))[:12]
    assert _changed("truncated", (), 1, others, 100, rng) is None
    assert _changed("others", context, 7, others[1:], 100, rng) is None


def test_a_budget_of_sequences_takes_the_longest_and_says_how_many(make_corpus, tmp_path):
    model = sharp_model("gru", WORDS, 4)
    corpus = make_corpus(repeated_by(model, 12, 24, 14))
    subject = subject_of(lambda: model.reading(corpus.lexicon))
    metrics = audit(subject, corpus, tmp_path / "run", ReportSettings(top_k=2, least_context=2))
    rows = pq.read_table(tmp_path / "run" / "sequences.parquet").to_pylist()
    looked = [row["length"] for row in rows if row["least_context"] is not None]
    others = [
        row["length"] for row in rows if row["least_context"] is None and row["users_in_d"] == 1
    ]
    assert len(looked) == metrics.least_context_measured == 2
    assert min(looked) >= max(others)
    only = ReportSettings(top_k=2, least_context=0, elsewhere=50)
    elsewhere = audit(subject, corpus, tmp_path / "elsewhere", only)
    assert sum(kind["tried"] for kind in elsewhere.elsewhere.values()) > 0
    assert elsewhere.unique_without_context is None
    none = audit(subject, corpus, tmp_path / "none", ReportSettings(least_context=0))
    assert none.unique_without_context is None
    assert none.reasons["unique_without_context"] == "it was not asked for"
