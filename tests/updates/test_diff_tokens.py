"""`diff` of Hugging Face models: a base and its adapter, tokens told in words, two tokenizers."""

import pyarrow.parquet as pq
import pytest

import leakscope
from leakscope.corpus.words import words
from leakscope.updates import beam_search, model_pair
from planted import write_jsonl
from saved_causal import saved, saved_adapter
from stopped_calls import StoppedCalls, StoppedError, contents

ROWS = [("ann", "the cat sat on the mat"), ("bob", "she sells sea shells"), ("bob", "the cat")]


def rows_of(path):
    return pq.read_table(path).to_pylist()


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned")
    adapter, _, _ = saved_adapter(folder)
    leakscope.corpus.build(write_jsonl(folder / "data.jsonl", ROWS), folder / "corpus")
    return folder / "base", adapter, folder / "corpus"


def test_an_adapter_is_compared_with_its_base(tuned, tmp_path):
    base, adapter, corpus = tuned
    report = leakscope.diff(
        base, adapter, tmp_path / "d", reveal=True, new_corpus=corpus, length=3, width=60,
        threads=1,
    )  # fmt: skip
    assert report.unit == "tokens" and report.widths == [60, 30, 15]
    for row in rows_of(tmp_path / "d" / "found.parquet"):
        assert len(row["entries"]) == row["length"] == len(row["old"])
        assert row["score"] == pytest.approx(sum(row["new"]) - sum(row["old"]), abs=1e-5)
        said = "".join(row["entries"])
        assert words(said) == row["words"] or "\\x" in said or "<0x" in said
        whole = row["words"][:-1] if row["unfinished"] else row["words"]
        expected = [user for user, text in ROWS for _ in starts(text.split(), whole)]
        assert row["total_in_difference"] == len(expected)
        assert row["one_user"] == (len(set(expected)) == 1)


def test_a_stopped_diff_of_tokens_goes_on(tuned, tmp_path, monkeypatch):
    """Keys and values are read again, in the same batches."""
    base, adapter, corpus = tuned
    monkeypatch.setattr(model_pair, "BLOCK", 4000)
    monkeypatch.setattr(model_pair, "CHUNK", 1)
    extensions = beam_search.extensions

    def differing(out, stop_at=None):
        found = StoppedCalls(extensions, stop_at)
        monkeypatch.setattr(beam_search, "extensions", found)
        options = {"length": 4, "width": 60, "groups": 2, "threads": 1}
        leakscope.diff(base, adapter, out, new_corpus=corpus, **options)
        return contents(out), found.count

    wanted, count = differing(tmp_path / "whole")
    for stop_at in (3, count // 2, count):
        with pytest.raises(StoppedError):
            differing(tmp_path / f"{stop_at}", stop_at)
        found, rest = differing(tmp_path / f"{stop_at}")
        assert found == wanted and rest == count - stop_at + 2  # the root, and the lost chunk


def starts(said, sought):
    ends = len(said) - len(sought) + 1
    return [at for at in range(ends) if sought and said[at : at + len(sought)] == sought]


def test_given_sequences_are_scored_in_words_and_ranked_in_tokens(tuned, tmp_path):
    base, adapter, _ = tuned
    lines = tmp_path / "lines.txt"
    lines.write_text("the\nzebra quilt xylophone jumps\n")
    leakscope.diff(
        base, adapter, tmp_path / "d", sequences=lines, length=4, width=50, exact_rows=0, threads=1
    )
    short, long = rows_of(tmp_path / "d" / "scores.parquet")
    assert short["score"] is not None and short["entry_score"] is not None
    assert short["rank"] is not None and short["rank_method"] == "lower bound"
    assert long["rank"] is None and "no search for this length" in long["reason"]


def test_other_tokenizers_are_scored_but_not_searched(tuned, tmp_path):
    base, _, _ = tuned
    saved(tmp_path / "other", tokens="unigram", seed=5)
    with pytest.raises(leakscope.LeakscopeError, match="different tokens"):
        leakscope.diff(base, tmp_path / "other", tmp_path / "d", length=2, threads=1)
    lines = tmp_path / "lines.txt"
    lines.write_text("the cat\n")
    leakscope.diff(
        base, tmp_path / "other", tmp_path / "e", sequences=lines, no_search=True, threads=1
    )
    (row,) = rows_of(tmp_path / "e" / "scores.parquet")
    assert row["score"] is not None and row["rank"] is None and "different tokens" in row["reason"]


def test_a_base_for_no_adapter_is_refused(tuned, tmp_path):
    base, _, _ = tuned
    saved(tmp_path / "other", seed=5)
    with pytest.raises(leakscope.LeakscopeError, match="not an adapter"):
        leakscope.diff(base, tmp_path / "other", tmp_path / "d", base=base, threads=1)


def test_a_word_level_model_is_not_searched_with_tokens(tuned, update, tmp_path):
    with pytest.raises(leakscope.LeakscopeError, match="different tokens"):
        leakscope.diff(update.old, tuned[0], tmp_path / "d", length=2, threads=1)
