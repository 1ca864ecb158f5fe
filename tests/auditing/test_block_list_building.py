"""From a run to a block list to a second report in which nothing that is blocked comes out."""

import stat

import numpy as np
import pyarrow.parquet as pq
import pytest

from leakscope.auditing.block_list_building import block_list, unique_sequences
from leakscope.leakage.pipeline import audit
from leakscope.models.evaluation import evaluate
from leakscope.models.wrappers.blocked import BlockedModel
from leakscope.records.block_lists.block_list import BlockList
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from small_models import sharp_model
from subjects import subject_of

WORDS = ["the", "a", "Cat", "dog", "is", "at", "home", "4711", "é", "東", ".", "rare"]
WORDS += [f"Word{i}" for i in range(48)]


PLAIN = sharp_model("gru", WORDS[:50], 3)


def said(rng):
    """A text that follows the model now and then, so that it predicts runs of it."""
    text = []
    while len(text) < 16:
        ranking = [WORDS[i] for i in PLAIN.next(text).order(9) if i < 50]
        text.append(
            ranking[rng.choice(3, p=[0.7, 0.2, 0.1])] if rng.random() < 0.8 else rng.choice(WORDS)
        )
    return " ".join(text)


@pytest.fixture
def corpus(make_corpus):
    rng = np.random.default_rng(5)
    rows = [(f"u{i % 6}", said(rng)) for i in range(90)]
    return make_corpus(rows, shard_words=200, validation=0.2)


@pytest.fixture
def model(corpus):
    return PLAIN.reading(corpus.lexicon)


def run(model, corpus, out, k, reveal=False):
    subject = subject_of(lambda: model)
    metrics = audit(subject, corpus, out, ReportSettings(top_k=k, reveal=reveal))
    return metrics, out


def sequences(out):
    rows = pq.read_table(out / "sequences.parquet", columns=["sequence", "users_in_d"]).to_pylist()
    return {tuple(row["sequence"]): row["users_in_d"] for row in rows}


def parts(sequence):
    size = len(sequence)
    return {sequence[i:j] for i in range(size) for j in range(i + 1, size + 1)}


@pytest.mark.parametrize(("k", "least"), [(1, 3), (3, 50)])
def test_nothing_blocked_comes_out_in_a_second_report(k, least, corpus, model, tmp_path):
    first, out = run(model, corpus, tmp_path / "first", k, reveal=True)
    unique = {words for words, users in sequences(out).items() if users == 1}
    assert len(unique) == first.unique_sequences > least
    made = block_list(out, corpus.path, tmp_path / "list", rate=0.001)
    assert made.sequences == len(unique) and made.ngrams == sum(made.by_length.values()) > least
    blocked = BlockedModel(model, BlockList.load(tmp_path / "list"), corpus.lexicon.words)
    second, out = run(blocked, corpus, tmp_path / "second", k, reveal=True)
    for words in sequences(out):
        assert not parts(words) & unique
    assert second.unique_sequences < first.unique_sequences

    # What moved up and is unique too goes into the next list, until nothing does.
    runs = [tmp_path / "first"]
    while second.unique_sequences and len(runs) < 9:
        runs.append(out)
        path = tmp_path / f"list-{len(runs)}"
        made = block_list(runs[0], corpus.path, path, more=runs[1:])
        blocked = BlockedModel(model, BlockList.load(path), corpus.lexicon.words)
        unique |= {words for words, users in sequences(out).items() if users == 1}
        assert made.sequences == len(unique)
        second, out = run(blocked, corpus, tmp_path / f"run-{len(runs)}", k, reveal=True)
        assert not any(parts(words) & unique for words in sequences(out))
    assert second.unique_sequences == 0

    accuracy = [
        evaluate(each, corpus.documents("validation"), (k,)).accuracy[k]
        for each in (model, blocked)
    ]
    assert 0 < accuracy[1] <= accuracy[0] + 0.1


def test_a_redacted_run_gives_the_same_list(corpus, model, tmp_path):
    _, closed = run(model, corpus, tmp_path / "closed", 2)
    _, opened = run(model, corpus, tmp_path / "open", 2, reveal=True)
    found = [tuple(corpus.lexicon.spell(np.array(ids))) for ids in unique_sequences(closed, corpus)]
    assert len(found) == len(set(found))
    assert set(found) == {words for words, users in sequences(opened).items() if users == 1}
    salt = bytes(16)
    one = block_list(closed, corpus.path, tmp_path / "new" / "one", salt=salt, threads=2)
    other = block_list(opened, corpus.path, tmp_path / "other", salt=salt)
    assert one.path.read_bytes() == other.path.read_bytes()
    assert one.bytes == one.path.stat().st_size
    assert stat.S_IMODE(one.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(one.path.parent.stat().st_mode) == 0o700
    drawn = block_list(closed, corpus.path, tmp_path / "drawn")
    assert BlockList.load(drawn.path).salt != salt
    assert BlockList.load(drawn.path).corpus_digest == corpus.manifest.digest


def test_a_lower_cased_corpus_says_so(make_corpus, tmp_path):
    corpus = make_corpus([("ann", "The Cat"), ("bob", "the dog")], lowercase=True)
    model = sharp_model("gru", corpus.lexicon.words, 1).reading(corpus.lexicon)
    _, out = run(model, corpus, tmp_path / "run", 3)
    block_list(out, corpus.path, tmp_path / "list")
    assert BlockList.load(tmp_path / "list").lowercase


def test_a_run_without_unique_sequences_gives_an_empty_list(make_corpus, tmp_path):
    corpus = make_corpus([("ann", "a b"), ("bob", "a b")])
    model = sharp_model("gru", corpus.lexicon.words, 1).reading(corpus.lexicon)
    _, out = run(model, corpus, tmp_path / "run", 3)
    made = block_list(out, corpus.path, tmp_path / "list")
    assert made.sequences == made.ngrams == 0 and made.by_length == {}
    assert made.expected_rate == 0 and not BlockList.load(made.path).blocks(["a", "b"])


def test_what_does_not_fit_is_refused(corpus, model, make_corpus, tmp_path):
    _, out = run(model, corpus, tmp_path / "run", 1)
    other = make_corpus([("x", "other words")])
    with pytest.raises(LeakscopeError, match="another corpus"):
        block_list(out, other.path, tmp_path / "list")
    with pytest.raises(LeakscopeError, match="between 0 and 1"):
        block_list(out, corpus.path, tmp_path / "list", rate=2)
    assert not (tmp_path / "list").exists()
    (tmp_path / "list").write_text("mine")
    with pytest.raises(LeakscopeError, match="already exists"):
        block_list(out, corpus.path, tmp_path / "list")
    assert (tmp_path / "list").read_text() == "mine"
