"""A short form of every trial, as `make trials` runs them; and that a trial can fail."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from leakscope.records.errors import LeakscopeError
from trials.__main__ import GROUPS, SHORT
from trials.flips.kinds import Kind
from trials.flips.trial import Honest, _verdict
from trials.forked import Interruption, command, forked
from trials.kills.commands import Killed, commands, differences, left_over
from trials.kills.moments import killed_once
from trials.odd_files.pages import Elements, _page_problem
from trials.odd_rows.batch import Batch, OddRow, judged
from trials.odd_rows.expected import ASIDE, Document, of_values
from trials.outcomes import Outcome, Verdict, bad, counts
from trials.served_folder import ServedFolder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of all groups, of one process: importing takes longer than the trials."""
    folder = tmp_path_factory.mktemp("trials")
    asked = [sys.executable, "-m", "trials", "--short", "--results", str(folder)]
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"PYTHONPATH": paths.rstrip(os.pathsep)}
    ran = subprocess.run(asked, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert "Traceback" not in ran.stderr, ran.stderr
    found = {name: json.loads((folder / f"{name}.json").read_text()) for name in GROUPS}
    assert ran.returncode == int(any(each["bad"] for each in found.values()))
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_the_short_form_holds(results, group):
    assert results[group]["bad"] == []
    assert results[group]["cases"] >= SHORT[group]


def test_what_must_not_happen_is_counted():
    found = [Outcome("a", "x", Verdict.READ), Outcome("a", "y", Verdict.SILENT, "why")]
    assert [each.name for each in bad(found)] == ["y"]
    assert counts(found) == {"a": {"read": 1, "silent": 1}}


def row_batch(lines, *expected):
    def write(folder):
        (folder / "odd.jsonl").write_bytes(b"\n".join(lines))
        return folder / "odd.jsonl"

    return Batch("jsonl", [OddRow(str(place), row) for place, row in enumerate(expected)], write)


HELLO = b'{"user": "a", "text": "hello"}'


@pytest.mark.parametrize(
    ("lines", "expected", "lost"),
    [
        ([HELLO], [Document("a", "hello")], 0),
        ([HELLO], [Document("a", "other")], 2),  # altered: it is missing, and one is too many
        ([HELLO], [ASIDE], 1),
        ([HELLO], [Document("a", "hello"), Document("a", "hello")], 2),
        ([HELLO, b"{}"], [Document("a", "hello"), ASIDE], 0),
        ([HELLO, b"{}"], [Document("a", "hello")], 1),
        ([b"no rows at all"], [ASIDE], 0),
    ],
)
def test_a_row_that_is_lost_or_altered_is_noticed(tmp_path, lines, expected, lost):
    found = judged(row_batch(lines, *expected), tmp_path)
    assert [each.verdict for each in found].count(Verdict.LOST) == lost
    assert len(bad(found)) == lost


def test_what_the_documentation_says_of_rows():
    assert of_values(1.0, "x") == Document("1", "x")
    assert of_values(float("nan"), "x") is ASIDE and of_values("a", " ") is ASIDE
    assert of_values("a", "x" * 1_000_001) is ASIDE and of_values("a", "\ud800") is ASIDE


def test_work_that_ends_fails_waits_and_starts_programs_is_told_apart(monkeypatch):
    monkeypatch.setattr("trials.forked.IDLE", 1.0)
    assert forked(lambda: [1, 2]).value == [1, 2]
    assert forked(command("no such command")).code == 2
    wrong = forked(lambda: 1 // 0)
    assert wrong.code == 70 and "ZeroDivisionError" in wrong.err
    assert forked(lambda: time.sleep(60)).code is None
    started = forked(lambda: subprocess.run(["true"], check=True).returncode)
    assert started.code == 0 and "true" in started.ran[0]
    stopped = forked(lambda: time.sleep(60), interruption=Interruption(0.05))
    assert stopped.code == -9


def read_x(folder):
    return (folder / "x").read_text(encoding="latin-1")


def refuse_x(folder):
    if (folder / "x").read_bytes() != b"abc":
        raise LeakscopeError("x is damaged.")


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (read_x, Verdict.SILENT),
        (lambda folder: "always the same", Verdict.UNNOTICED),
        (refuse_x, Verdict.REFUSED),
        (lambda folder: 1 // (read_x(folder) == "abc"), Verdict.UNEXPECTED),
    ],
)
def test_what_a_flip_does_is_told_apart(tmp_path, answer, verdict):
    (tmp_path / "it").mkdir()
    (tmp_path / "it" / "x").write_bytes(b"abc")
    kind = Kind("kind", lambda: tmp_path / "it", ("*",), answer, 1)
    honest = Honest(None if answer is refuse_x else answer(tmp_path / "it"), verified=False)
    place = ServedFolder(tmp_path, tmp_path / "cache")
    found, _ = _verdict(kind, honest, place, Path("x"), b"abd")
    assert found == verdict


def test_a_run_that_ends_otherwise_after_a_kill_is_noticed(tmp_path):
    for name in ("quiet", "case"):
        (tmp_path / name / "out").mkdir(parents=True)
        (tmp_path / name / "out" / "x").write_text("same")
    killed, case, quiet = Killed("x", lambda case: ()), tmp_path / "case", tmp_path / "quiet"
    assert differences(killed, case, quiet) == left_over(case, quiet) == []
    (case / "out" / ".x.1-0badc0de.leakscope").write_text("half")
    assert left_over(case, quiet) == ["out/.x.1-0badc0de.leakscope"]
    (case / "out" / "x").write_text("other")
    assert differences(killed, case, quiet) == ["out/x is another"]
    (case / "out" / "x").unlink()
    assert differences(killed, case, quiet) == ["out/x is missing"]


def test_a_command_with_urls_names_no_path(tmp_path):
    place = ServedFolder(tmp_path, tmp_path.parent)
    given = place.urls(("train", tmp_path / "made" / "corpus", "--epochs", 2))
    assert given == ("train", "s3://bucket/made/corpus", "--epochs", 2)
    names = [each.name for each in commands(place)]
    assert {"report on s3", "report on ray", "report on s3 on ray"} <= set(names)
    assert [each.name for each in commands(place, ("* on ray",))] == names[-2:]


def test_work_is_killed_once_it_has_come_so_far(tmp_path):
    def work():
        for name in "abc":
            (tmp_path / name).mkdir()

    assert forked(killed_once(work, (tmp_path / "b").exists)).code == -9
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_page_that_runs_something_is_noticed(tmp_path):
    attack = "<script>evil()</script>"
    page = tmp_path / "report.html"
    page.write_text("<p>&lt;script&gt;evil()&lt;/script&gt;</p>")
    assert _page_problem(page, attack) is None
    page.write_text(f"<p>{attack}</p>")
    assert _page_problem(page, attack) is not None
    page.write_text("<p onclick='x()'>&lt;script&gt;evil()&lt;/script&gt;</p>")
    assert _page_problem(page, attack) == "p has a handler"
    assert [tag for tag, _ in Elements("<p><b>").found] == ["p", "b"]
