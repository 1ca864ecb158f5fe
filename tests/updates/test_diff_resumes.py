"""A diff that was stopped goes on, and gives the same files, byte for byte."""

import random

import numpy as np
import pyarrow as pa
import pytest

import leakscope
from leakscope.auditing.updates import added_documents, counted_shards
from leakscope.updates import beam_search, model_pair, rank_batches
from leakscope.updates.best_extensions import BestSoFar, Extensions
from small_update import SECRET
from stopped_calls import StoppedCalls, StoppedError, contents, flip, kept
from told_damage import ToldDamage

WORK = {
    (beam_search, "extensions"): beam_search.extensions,
    (counted_shards, "Counter"): counted_shards.Counter,
    (added_documents, "_keyed"): added_documents._keyed,
    (rank_batches, "score_entries"): rank_batches.score_entries,
}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(model_pair, "BLOCK", 300)
    monkeypatch.setattr(model_pair, "CHUNK", 2)
    monkeypatch.setattr(rank_batches, "AT_ONCE", 1)


def calls(monkeypatch, stop_at=None):
    """Of all that a diff does in chunks."""
    found = StoppedCalls(lambda function, *given: function(*given), stop_at)
    for (module, name), function in WORK.items():
        monkeypatch.setattr(module, name, lambda *given, of=function: found(of, *given))
    return found


@pytest.fixture(scope="module")
def asked(update, tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    leakscope.canary.plant(
        update.old.parent / "old.jsonl", folder / "planted", template="{words:3}", vocabulary=50,
        schedule="1", users=2, controls=2, validation=0.0,
    )  # fmt: skip
    corpora = {"old_corpus": update.old_corpus, "new_corpus": update.new_corpus}
    return {
        "whole": {"length": 4, "width": 50, "groups": 2, "canaries": folder / "planted", **corpora},
        "known": {"length": 2, "canaries": folder / "planted", "known": 1, "exact_rows": 0},
    }


def differing(update, out, **options):
    leakscope.diff(update.old, update.new, out, threads=1, **options)
    return contents(out)


def roots(kind):
    """First steps of a search, which are not kept; of one behind each canary's first word, too."""
    return 1 if kind == "whole" else 5


@pytest.mark.parametrize("kind", ["whole", "known"])
def test_a_stopped_diff_goes_on(update, asked, tmp_path, monkeypatch, kind):
    whole, told = calls(monkeypatch), []
    wanted = differing(update, tmp_path / "quiet", **asked[kind])
    draw = random.Random(3)
    for stop_at in [2, whole.count, *draw.sample(range(3, whole.count), 5)]:
        out = tmp_path / f"stopped-{stop_at}"
        calls(monkeypatch, stop_at)
        with pytest.raises(StoppedError):
            differing(update, out, **asked[kind])
        rest = calls(monkeypatch)
        assert differing(update, out, progress=remembering(told), **asked[kind]) == wanted
        assert rest.count <= whole.count - stop_at + 1 + roots(kind)  # one chunk is lost
        assert not (out / ".work").exists() and not (out / ".leakscope").exists()


def remembering(told):
    told.clear()
    return lambda *given: told.append(given)


def test_what_was_kept_is_shown_as_done(update, asked, tmp_path, monkeypatch):
    calls(monkeypatch, 8)
    with pytest.raises(StoppedError):
        differing(update, tmp_path / "out", **asked["whole"])
    before, seen = contents(tmp_path / "out"), []
    forecast = leakscope.forecast.diff(
        update.old, update.new, out=tmp_path / "out", threads=1, **asked["whole"]
    )
    said = {stage.name: stage.work for stage in forecast.stages}
    assert contents(tmp_path / "out") == before
    calls(monkeypatch)
    differing(update, tmp_path / "out", progress=remembering(seen), **asked["whole"])
    stage, done, total, _ = seen[0]
    assert stage == "search" and 0 < done < total
    assert said["search"].endswith(f"; {done:,} are kept")


def test_every_kept_file_is_checked_and_made_again_alone(update, asked, tmp_path, monkeypatch):
    whole, out = calls(monkeypatch), tmp_path / "out"
    wanted = differing(update, tmp_path / "quiet", **asked["whole"])
    calls(monkeypatch, whole.count)
    with pytest.raises(StoppedError):
        differing(update, out, **asked["whole"])
    stages = {path.name.rsplit("-", 1)[0] for path in kept(out)}
    assert stages == {"searched", "count", "document-keys", "score-words", "rank"}
    for stage in sorted(stages):
        before = kept(out)
        spoilt = min(kept(out, stage))
        content = spoilt.read_bytes()
        flip(spoilt)
        calls(monkeypatch)
        last = StoppedCalls(rank_batches.score_entries, 2 if stage == "rank" else 1)
        monkeypatch.setattr(rank_batches, "score_entries", last)  # the last rank is never kept
        told = ToldDamage()
        with pytest.raises(StoppedError):
            differing(update, out, progress=told, **asked["whole"])
        assert told.names == [spoilt.name]
        after = kept(out)
        assert {path for path in before if before[path] != after[path]} == {spoilt}
        assert spoilt.read_bytes() == content
    calls(monkeypatch)
    assert differing(update, out, **asked["whole"]) == wanted


def test_the_state_of_a_length_is_used_unless_it_is_damaged(update, asked, tmp_path, monkeypatch):
    whole = calls(monkeypatch)
    wanted = differing(update, tmp_path / "quiet", **asked["whole"])
    for spoilt, more in ((0, 0), (1, 1), (2, 2)):
        out = tmp_path / f"spoilt-{spoilt}"
        calls(monkeypatch, 4)  # the root, two chunks that are kept, and one that is lost
        with pytest.raises(StoppedError):
            differing(update, out, **asked["whole"])
        states = sorted(kept(out, "search"), key=lambda path: -path.stat().st_mtime_ns)
        assert len(states) == 2
        for path in states[:spoilt]:
            flip(path)
        rest, told = calls(monkeypatch), ToldDamage()
        assert differing(update, out, progress=told, **asked["whole"]) == wanted
        assert rest.count == whole.count - 2 + more
        assert set(told.names) == {path.name for path in states[:spoilt]}


@pytest.mark.parametrize(
    "change",
    [{"relative": True}, {"top_k": 5}, {"width": 40}, {"deleted": True}, {"prefix": SECRET[0]}],
)
def test_nothing_of_another_search_is_used(update, asked, tmp_path, monkeypatch, change):
    whole = calls(monkeypatch)
    base = {name: value for name, value in asked["whole"].items() if name != "canaries"}
    options = base | change
    wanted = differing(update, tmp_path / "quiet", **options)
    calls(monkeypatch, 8)
    with pytest.raises(StoppedError):
        differing(update, tmp_path / "out", **base)
    anew = calls(monkeypatch)
    assert differing(update, tmp_path / "out", **options) == wanted
    assert anew.count == whole.count


def test_a_restored_best_goes_on_as_it_would_have():
    rng = np.random.default_rng(0)
    offers = [
        Extensions(
            rng.integers(9, size=7), rng.integers(9, size=7),
            *rng.random((2, 7), np.float32), rng.integers(5, size=7) / 4,
        )
        for _ in range(12)
    ]  # fmt: skip
    for cut in range(1, 12):
        for width in (1, 5, 30, 200):
            straight, first = BestSoFar(width), BestSoFar(width)
            for each in offers[:cut]:
                first.offer(each)
            second = BestSoFar.restored(width, as_table(first.state()))
            for each in offers[:cut]:
                straight.offer(each)
            for each in offers[cut:]:
                assert second.bar == straight.bar
                straight.offer(each)
                second.offer(each)
            for mine, theirs in zip(second.best(), straight.best(), strict=True):
                np.testing.assert_array_equal(mine, theirs)


def as_table(batch):
    return pa.Table.from_batches([batch])
