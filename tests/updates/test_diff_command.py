"""`leakscope diff` as somebody would use it: files, tables, pages, gates, refusals."""

import json
import shutil

import pyarrow.parquet as pq
import pytest

import leakscope
from leakscope.models.word.model_directory import load_model
from leakscope.updates.score_rule import ScoreRule
from plain_differences import plain_score
from small_update import COMMON, SECRET

FAST = {"length": 4, "threads": 1}


def rows_of(path):
    return pq.read_table(path).to_pylist()


@pytest.fixture(scope="module")
def revealed(update, tmp_path_factory):
    out = tmp_path_factory.mktemp("diff") / "out"
    report = leakscope.diff(
        update.old, update.new, out, reveal=True, old_corpus=update.old_corpus,
        new_corpus=update.new_corpus, **FAST,
    )  # fmt: skip
    return out, report


def test_the_secret_is_found_and_its_user_is_named(revealed):
    out, report = revealed
    found = rows_of(out / "found.parquet")
    longest = [row for row in found if row["length"] == 4]
    secret = next(row for row in longest if row["words"] == SECRET)
    assert secret["place"] <= 3
    assert (secret["total_in_old"], secret["total_in_new"]) == (0, 12)
    assert (secret["total_in_difference"], secret["users_in_difference"]) == (12, 1)
    assert secret["one_user"] and secret["user"] == "newcomer"
    common = next(row for row in found if row["words"] == COMMON)
    assert (common["users_in_difference"], common["one_user"], common["user"]) == (4, False, None)
    assert report.metrics.one_user_found == sum(row["one_user"] for row in found) > 0
    assert report.metrics.one_user_longest == 4
    assert report.metrics.users_found == 1


def test_scores_and_counts_are_those_of_plain_loops(revealed, update):
    out, _ = revealed
    old, new = load_model(update.old), load_model(update.new)
    texts = {
        name: [(row["user"], row["text"].split()) for row in map(json.loads, open_lines(path))]
        for name, path in (("old", update.old), ("new", update.new))
    }
    for row in rows_of(out / "found.parquet")[::17]:
        expected = plain_score(old, new, row["words"], ScoreRule())
        assert row["score"] == pytest.approx(expected, abs=1e-4)
        for name, rows in texts.items():
            users = [user for user, said in rows for _ in occurrences(said, row["words"])]
            assert row[f"total_in_{name}"] == len(users)
            assert row[f"users_in_{name}"] == len(set(users))


def open_lines(model):
    return (model.parent / f"{model.name}.jsonl").read_text().splitlines()


def occurrences(said, sought):
    for start in range(len(said) - len(sought) + 1):
        if said[start : start + len(sought)] == sought:
            yield start


def test_a_redacted_result_has_no_words_and_no_users(update, tmp_path):
    report = leakscope.diff(
        update.old, update.new, tmp_path / "d", new_corpus=update.new_corpus, prefix=SECRET[0],
        old_corpus=update.old_corpus, length=3, threads=1,
    )  # fmt: skip
    assert report.redacted and report.metrics.one_user_found > 0
    found = rows_of(tmp_path / "d" / "found.parquet")
    assert all(row["words"] is row["entries"] is row["user"] is None for row in found)
    for name in ("diff.html", "diff.json"):
        text = (tmp_path / "d" / name).read_text()
        assert "newcomer" not in text and not any(f"{word}" in text for word in SECRET)
    assert (tmp_path / "d" / "found.parquet").stat().st_mode & 0o777 == 0o600
    # Behind what the attacker knows, the rest of the secret comes first.
    assert found[-1]["length"] == 3
    best = next(row for row in found if row["length"] == 3)
    assert best["one_user"] and best["score"] > 1


def test_a_deletion_is_the_same_update_backwards(update, revealed, tmp_path):
    leakscope.diff(
        update.new, update.old, tmp_path / "d", deleted=True, reveal=True,
        old_corpus=update.new_corpus, new_corpus=update.old_corpus, **FAST,
    )  # fmt: skip
    assert rows_of(tmp_path / "d" / "found.parquet") == rows_of(revealed[0] / "found.parquet")
    with pytest.raises(leakscope.LeakscopeError, match="give --old-corpus and"):
        leakscope.diff(
            update.new, update.old, tmp_path / "e", deleted=True, new_corpus=update.old_corpus
        )


def test_given_sequences_have_scores_and_ranks(update, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text(" ".join(SECRET) + "\n\n" + " ".join(COMMON) + "\nnobody knows this\n")
    report = leakscope.diff(
        update.old, update.new, tmp_path / "d", sequences=path, reveal=True, **FAST
    )
    secret, common, strange = rows_of(tmp_path / "d" / "scores.parquet")
    old, new = load_model(update.old), load_model(update.new)
    assert secret["score"] == pytest.approx(plain_score(old, new, SECRET, ScoreRule()), abs=1e-4)
    assert secret["entry_score"] == pytest.approx(secret["score"], abs=1e-4)
    assert (secret["number"], common["number"]) == (1, 3)
    assert secret["rank"] <= 3 and secret["rank_method"] == "exact"
    assert strange["score"] is None and "neither model knows" in strange["reason"]
    assert any("neither model knows" in line for line in report.warnings)
    assert report.metrics.rank_zero_canaries is None
    bare = leakscope.diff(
        update.old, update.new, tmp_path / "e", sequences=path, no_search=True, threads=1
    )
    assert bare.metrics.found is None and "no search" in bare.metrics.reasons["found"]
    again = rows_of(tmp_path / "e" / "scores.parquet")
    assert again[0]["score"] == pytest.approx(secret["score"], abs=1e-6)


def test_canaries_are_scored_and_ranked(update, tmp_path):
    source = update.old.parent / "old.jsonl"
    leakscope.canary.plant(
        source, tmp_path / "planted", template="{words:3}", vocabulary=50, schedule="1,12",
        users=1, controls=3, validation=0.0,
    )  # fmt: skip
    new = tmp_path / "m"
    leakscope.train(
        tmp_path / "planted" / "corpus", new, arch="gru", hidden=32, embedding=16, threads=1,
        batch_size=16, epochs=15, learning_rate=0.01, optimizer="adam",
    )  # fmt: skip
    report = leakscope.diff(
        update.old, new, tmp_path / "d", canaries=tmp_path / "planted", length=3, threads=1
    )
    rows = rows_of(tmp_path / "d" / "scores.parquet")
    states = {(row["state"], row["repetitions"]): row for row in rows}
    assert len(rows) == 5 and all(row["rank"] is not None for row in rows)
    often, once = states["planted", 12], states["planted", 1]
    assert often["score"] > once["score"] and often["rank"] < once["rank"]
    assert report.metrics.rank_zero_canaries == sum(
        row["rank"] == 0 for row in rows if row["state"] == "planted"
    )
    assert "<svg" in (tmp_path / "d" / "diff.html").read_text()
    check_behind_known_words(update.old, new, tmp_path)


def check_behind_known_words(old, new, folder):
    """As if each canary were searched for behind a prefix of its own."""
    planted = folder / "planted"
    leakscope.diff(
        old, new, folder / "known", canaries=planted, known=1, reveal=True, length=2, threads=1
    )
    leakscope.diff(
        old, new, folder / "bound", canaries=planted, known=1, exact_rows=0, length=1, threads=1
    )
    canaries = json.loads((planted / "canaries.json").read_text())["canaries"]
    bounds = rows_of(folder / "bound" / "scores.parquet")
    for row, bound in zip(rows_of(folder / "known" / "scores.parquet"), bounds, strict=True):
        said = canaries[row["number"]]["words"]
        assert row["words"] == said[1:] and row["known"] == 1 and row["length"] == 2
        path = folder / "rest.txt"
        path.write_text(" ".join(said[1:]))
        out = folder / f"prefix{row['number']}"
        leakscope.diff(old, new, out, sequences=path, prefix=said[0], length=2, threads=1)
        (direct,) = rows_of(out / "scores.parquet")
        for name in ("score", "relative_score", "rank", "rank_method", "old", "new"):
            assert row[name] == direct[name]
        assert bound["rank_method"] == "lower bound" and bound["rank"] <= row["rank"]
        assert bound["score"] == row["score"]
    with pytest.raises(leakscope.LeakscopeError, match="no word behind the first 3"):
        leakscope.diff(old, new, folder / "x", canaries=planted, known=3, length=2, threads=1)
    with pytest.raises(leakscope.LeakscopeError, match="give --canaries"):
        leakscope.diff(old, new, folder / "x", known=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "--width must be at least 1"),
        ({"length": 0}, "--length"),
        ({"floor": 0.0}, "--floor"),
        ({"no_search": True}, "give --sequences or --canaries"),
        ({"prefix": "unheard of"}, "not in the model's vocabulary"),
        ({"sequences": "missing.txt"}, "cannot be read"),
    ],
)
def test_wrong_settings_are_refused(update, tmp_path, options, message):
    with pytest.raises(leakscope.LeakscopeError, match=message):
        leakscope.diff(update.old, update.new, tmp_path / "d", **options)
    assert not (tmp_path / "d").exists()


def test_the_same_model_twice_is_refused(update, tmp_path):
    shutil.copytree(update.old, tmp_path / "copy")
    with pytest.raises(leakscope.LeakscopeError, match="the same model"):
        leakscope.diff(update.old, tmp_path / "copy", tmp_path / "d")


def test_the_data_of_another_model_is_refused(update, tmp_path):
    with pytest.raises(leakscope.LeakscopeError, match="was not trained on"):
        leakscope.diff(update.old, update.new, tmp_path / "d", new_corpus=update.old_corpus)


def test_a_length_beyond_the_context_is_refused(update, tmp_path):
    shape = {"arch": "transformer", "hidden": 16, "embedding": 16, "heads": 2, "layers": 1,
             "context": 4, "epochs": 1, "threads": 1}  # fmt: skip
    for seed in (0, 1):
        leakscope.train(update.old_corpus, tmp_path / f"m{seed}", seed=seed, **shape)
    pair = tmp_path / "m0", tmp_path / "m1"
    with pytest.raises(leakscope.LeakscopeError, match="reads 4 entries at most"):
        leakscope.diff(*pair, tmp_path / "d", length=4)
    assert leakscope.diff(*pair, tmp_path / "e", length=3, threads=1).metrics.found
