"""Results of a study are made once, found again, and made anew when what decides them changes."""

import itertools
import json

import pytest

from leakscope.canaries.canary_settings import PlantSettings
from leakscope.engine.progress import silent
from leakscope.records.errors import LeakscopeError
from leakscope.records.output_claim import MARKER
from leakscope.studies.canary_steps import plant_step
from leakscope.studies.kept_results import KeptResults, Step
from remote_artifacts import files_of
from told_damage import ToldDamage


def counter():
    ticks = itertools.count()
    return lambda: float(next(ticks))


@pytest.fixture
def calls():
    return []


def step(calls, text="a", **changes):
    def make(path):
        calls.append(text)
        path.write_text(text)

    return Step("note", {"text": text}, make, **changes)


def test_makes_a_result_once(tmp_path, calls):
    kept = KeptResults(tmp_path / "steps", counter())
    first = kept[step(calls)]
    assert kept[step(calls)] == first
    assert KeptResults(tmp_path / "steps", counter())[step(calls)] == first
    assert calls == ["a"]
    assert first.read_text() == "a"
    assert kept.made == 1


def test_makes_another_where_anything_differs(tmp_path, calls):
    kept = KeptResults(tmp_path / "steps", counter())
    assert kept[step(calls, "a")] != kept[step(calls, "b")]
    other = Step("remark", {"text": "a"}, lambda path: path.write_text("c"))
    assert kept[other] != kept[step(calls, "a")]
    assert calls == ["a", "b"]


@pytest.mark.parametrize("spoil", ["flip", "cut", "remove"])
@pytest.mark.parametrize("folder", [False, True])
def test_a_damaged_result_is_made_again(tmp_path, folder, spoil):
    made = []

    def make(path):
        made.append(path.name)
        if folder:
            (path / "deep").mkdir(parents=True)
            (path / "whole").write_text("whole")
        (path / "deep" / "note" if folder else path).write_text("as it was")

    known = Step("note", {"text": "a"}, make)
    first = KeptResults(tmp_path / "steps", counter())[known]
    file = first / "deep" / "note" if folder else first
    if spoil == "remove":
        file.unlink()
    else:
        file.write_text("as it wbs" if spoil == "flip" else "as it")
    told = ToldDamage()
    kept = KeptResults(tmp_path / "steps", counter(), told)
    assert not kept.has(known) and kept[known] == first
    assert told.names == ([first.name] if folder or spoil != "remove" else [])
    assert file.read_text() == "as it was" and len(made) == 2
    if folder:  # what a later step adds is no damage
        (first / "added").write_text("more")
    assert KeptResults(tmp_path / "steps", counter()).has(known)


def test_a_killed_step_is_made_again(tmp_path, calls):
    kept = KeptResults(tmp_path / "steps", counter())

    def killed(path):
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept[Step("note", {"text": "a"}, killed)]
    assert not kept.has(step(calls))
    assert kept[step(calls)].read_text() == "a"
    assert kept.has(step(calls))


def test_a_whole_result_without_its_record_needs_only_that(tmp_path, calls):
    kept = KeptResults(tmp_path / "steps", counter())
    wanted = step(calls, is_whole=lambda path: path.read_text() == "a")
    assert not kept.has(wanted) and kept.find(wanted) is None
    assert not (tmp_path / "steps").exists()  # whoever only looks writes nothing
    (tmp_path / "steps").mkdir()
    (tmp_path / "steps" / wanted.name).write_text("a")
    kept[wanted]
    assert calls == []
    assert kept.has(wanted)


def test_a_lost_result_is_made_again(tmp_path, calls):
    kept = KeptResults(tmp_path / "steps", counter())
    kept[step(calls)].unlink()
    assert kept[step(calls)].read_text() == "a"
    assert calls == ["a", "a"]


def test_a_changed_record_is_refused(tmp_path, calls):
    kept = KeptResults(tmp_path / "steps", counter())
    path = kept[step(calls)]
    record = path.with_name(path.name + ".json")
    told = json.loads(record.read_text())
    record.write_text(json.dumps(told | {"made_from": {"text": "b"}}))
    with pytest.raises(LeakscopeError, match="damaged or was changed"):
        kept[step(calls)]


def test_a_step_that_makes_nothing_is_refused(tmp_path):
    kept = KeptResults(tmp_path / "steps", counter())
    with pytest.raises(LeakscopeError, match="left no result"):
        kept[Step("note", {}, lambda path: None)]


def test_forgets(tmp_path, calls):
    kept = KeptResults(tmp_path / "steps", counter())
    kept[step(calls)]
    kept.forget(step(calls))
    assert not kept.has(step(calls))
    assert list((tmp_path / "steps").iterdir()) == []


def test_lists_the_whole_results_of_a_kind(tmp_path, calls):
    kept = KeptResults(tmp_path / "steps", counter())
    here = kept[step(calls, "a")]
    kept[step(calls, "b")].unlink()  # its record is left
    kept[Step("remark", {"text": "c"}, lambda path: path.write_text("c"))]
    assert kept.of_kind("note") == [({"text": "a"}, here)]


@pytest.mark.parametrize("words", ["", '{"unfinished":"train"}'])
def test_the_mark_of_a_whole_result_goes(tmp_path, words):
    """A command that is killed at its very end leaves it, with words or without."""

    def make(path):
        path.mkdir(exist_ok=True)
        (path / "record").write_text("all")

    known = Step("note", {"text": "a"}, make)
    make_first = tmp_path / "steps" / known.name
    make_first.mkdir(parents=True)
    make(make_first)
    (make_first / MARKER).write_text(words)
    found = KeptResults(tmp_path / "steps", counter())[known]
    assert [path.name for path in found.iterdir()] == ["record"]
    record = json.loads(found.with_suffix(".json").read_text())
    assert list(record["files"]) == ["record"]


def test_a_step_that_was_killed_after_its_last_word_is_whole(tmp_path, make_corpus):
    """Its mark had no words any more: it is not refused as the output of somebody else."""
    corpus = make_corpus([(f"u{at}", "one two three four five six") for at in range(6)])
    settings = PlantSettings(users=2, template="{words:2}", schedule="1", controls=1)
    step = plant_step(corpus, settings, silent)
    kept = KeptResults(tmp_path / "steps", counter())
    first = files_of(kept[step])
    (kept[step] / MARKER).write_bytes(b"")
    (tmp_path / "steps" / f"{step.name}.json").unlink()
    assert files_of(KeptResults(tmp_path / "steps", counter())[step]) == first
