"""Verdicts and interfaces as a user meets them: printed, in the records, on pages, in compare, and
in all that is made from a report.
"""

import json
from html import unescape

import pytest

from leakscope.records.block_lists.block_list import BlockList
from leakscope.reporting.opened_run import Run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    from leakscope.corpus.build_settings import BuildSettings
    from leakscope.corpus.building.builder import build_rows
    from leakscope.corpus.readers.rows import Row

    folder = tmp_path_factory.mktemp("gates")
    rows = [
        Row(f"u{i % 6}", f"my secret number {i % 6} is kept by word{i % 6} and word{(i * 7) % 11}")
        for i in range(90)
    ]
    build_rows(rows, folder / "c", settings=BuildSettings(validation=0.2))
    import leakscope

    leakscope.train(
        folder / "c", folder / "m", arch="gru", hidden=24, embedding=12, epochs=12, batch_size=8,
        vocabulary=60, learning_rate=0.01, optimizer="adam", threads=1,
    )  # fmt: skip
    return folder


def report(runs, leakscope, out, *more):
    return leakscope("report", runs / "m", runs / "c", "--out", out, "--threads", 1, *more)


def test_verdicts_are_printed_with_value_and_bound_and_kept(runs, leakscope, tmp_path):
    given = ("--fail-on", "unique_sequences>0", "--fail-on", "unique_by_length[90+]>0")
    ran = report(runs, leakscope, tmp_path / "r", *given)
    assert ran.code == 1
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    number = metrics["unique_sequences"]
    assert f"gate: FAIL unique_sequences>0: it is {number}" in ran.err
    assert "gate: PASS unique_by_length[90+]>0: it is 0" in ran.err
    kept = [(each["gate"], each["passed"], each["value"]) for each in metrics["gates"]]
    assert kept == [("unique_sequences>0", False, number), ("unique_by_length[90+]>0", True, 0)]
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert manifest["gates"] == metrics["gates"]
    page = (tmp_path / "r" / "report.html").read_text()
    assert "<strong>FAIL</strong> unique_sequences&gt;0" in page and "<strong>PASS" in page
    assert leakscope("verify", tmp_path / "r").code == 0


def test_what_cannot_be_checked_is_told_and_kept(runs, leakscope, tmp_path):
    ran = report(runs, leakscope, tmp_path / "r", "--fail-on", "curated[10]>0")
    assert ran.code == 2 and "gate: UNCHECKED curated[10]>0: no public model" in ran.err
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert metrics["gates"][0]["passed"] is None
    assert "UNCHECKED" in (tmp_path / "r" / "report.html").read_text()


@pytest.fixture
def interface(request, tmp_path):
    """The options of an interface, and what it does in words."""
    if request.param == "confidence":
        said = "stays silent where 1/p of its best suggestion exceeds 1.5"
        return ("--confidence", 1.5), said
    ngrams = [["number", "3", "is"]]
    BlockList.build(ngrams, 1e-9, salt=bytes(16), lowercase=False).save(tmp_path / "list")
    said = "suggests nothing that completes an entry of a block list"
    return ("--block-list", tmp_path / "list"), said


@pytest.mark.parametrize("interface", ["confidence", "block list"], indirect=True)
def test_an_interface_is_named_everywhere(runs, leakscope, tmp_path, interface):
    """First sentence, headline, records, gate line and comparison."""
    options, said = interface
    bare, behind = tmp_path / "bare", tmp_path / "behind"
    assert report(runs, leakscope, bare).code == 0
    ran = report(runs, leakscope, behind, *options, "--fail-on", "occurrences<0")
    assert ran.code == 0, ran.err
    assert "PASS occurrences<0: it is" in ran.err
    assert f"through an interface that {said}" in ran.err
    assert said in " ".join(ran.out.split())
    page = (behind / "report.html").read_text()
    summary = page[page.index('<p class="summary') :]
    assert summary.index(f"Through an interface that {said}") < summary.index("an attacker")
    assert (
        "Not the bare model." in page
        and "Not the bare model." not in (bare / "report.html").read_text()
    )
    for name in ("metrics.json", "manifest.json"):
        assert json.loads((behind / name).read_text())["interface"] == said
        assert json.loads((bare / name).read_text())["interface"] is None
    compared = leakscope("compare", bare, behind, "--json", "--out", tmp_path / "compared")
    assert [row["interface"] for row in json.loads(compared.out)] == [None, said]
    told = " ".join((tmp_path / "compared" / "compare.html").read_text().split())
    assert "Through an interface that" in told and said in told


def plain(text):
    """Text as it is read, however lines are broken."""
    return " ".join(unescape(text).split())


@pytest.fixture(params=["confidence", "block list"])
def behind(request, runs, leakscope, tmp_path):
    """A bare run, one through an interface that hides nearly all, and what that does in words."""
    if request.param == "confidence":
        said, options = (
            "stays silent where 1/p of its best suggestion exceeds 1",
            ("--confidence", 1),
        )
    else:
        said = "suggests nothing that completes an entry of a block list"
        words = [[word] for word in ("number", "is", "secret", "kept", "by", "my")]
        BlockList.build(words, 1e-9, salt=bytes(16), lowercase=False).save(tmp_path / "list")
        options = ("--block-list", tmp_path / "list")
    assert report(runs, leakscope, tmp_path / "bare").code == 0
    ran = report(runs, leakscope, tmp_path / "behind", *options)
    assert ran.code == 0, ran.err
    return tmp_path / "bare", tmp_path / "behind", said


def test_a_persons_answer_names_the_interface(behind, leakscope, tmp_path):
    """In its first sentence, in the record, on the page and in the table, also where that is
    empty; without one, nothing is said."""
    for run, said in zip(behind[:2], (None, behind[2]), strict=True):
        out = tmp_path / f"person-{run.name}"
        ran = leakscope("person", run, "--number", 0, "--out", out)
        assert ran.code == 0, ran.err
        record = json.loads((out / "person.json").read_text())
        page, table = plain((out / "person.html").read_text()), (out / "person.csv").read_text()
        first = f"Through an interface that {said}, "
        assert record["interface"] == said
        assert record["summary"].startswith(first) is (said is not None)
        assert plain(ran.out).startswith(plain(record["summary"]))
        assert ("Not the bare model." in page) is ("interface" in page) is (said is not None)
        assert ("through an interface" in table) is (said is not None)
        if said is not None:
            assert plain(record["summary"]) in page
            assert f"All figures are of the model through an interface that {said}." in page
            assert table.splitlines()[0].endswith(f'"through an interface that {said}"')
            assert all(line.endswith(',"yes"') for line in table.splitlines()[1:])
        assert leakscope("verify", out).code == 0


def test_a_rendered_run_names_the_interface(behind, leakscope, tmp_path):
    assert leakscope("render", behind[1], "--redact", "--out", tmp_path / "shared").code == 0
    page = plain((tmp_path / "shared" / "report.html").read_text())
    assert f"Through an interface that {behind[2]}, and shown only" in page
    assert f"All figures are of the model through an interface that {behind[2]}." in page


def test_a_report_on_some_users_names_the_interface(runs, leakscope, tmp_path):
    (tmp_path / "users").write_text("u1\n")
    some = ("--users", tmp_path / "users", "--confidence", 1.5, "--fail-on", "occurrences<0")
    ran = report(runs, leakscope, tmp_path / "some", *some)
    said = "interface that stays silent where 1/p of its best suggestion exceeds 1.5"
    assert ran.code == 0 and f"through an {said}; only 1 of" in ran.err
    person = leakscope("person", tmp_path / "some", "--user", "u2", "--corpus", runs / "c",
                       "--out", tmp_path / "other")  # fmt: skip
    assert person.out.startswith("This user was not audited")  # nothing came out of nothing asked
    assert f"an {said}" in (tmp_path / "other" / "person.html").read_text()


def test_an_action_list_names_the_interface(behind, leakscope, tmp_path):
    for run, said in zip(behind[:2], (None, behind[2]), strict=True):
        out = tmp_path / f"{run.name}.jsonl"
        ran = leakscope("suggest", run, "--out", out)
        assert ran.code == 0, ran.err
        assert ("interface" in ran.out) is (said is not None)
        assert said is None or f"hrough an interface that {said}" in plain(ran.out)
        header = json.loads(out.read_text().splitlines()[0])
        assert header.get("interface") == said
        told = json.loads(leakscope("suggest", run, "--json").out)
        assert told["interface"] == said


def test_a_hardening_names_the_interface_that_it_begins_from(behind, runs, leakscope, tmp_path):
    for run, said in zip(behind[:2], (None, behind[2]), strict=True):
        out = tmp_path / f"hardened-{run.name}"
        ran = leakscope("harden", run, "--corpus", runs / "c", "--out", out, "--threads", 1)
        assert ran.code == 0, ran.err
        line = f"All figures are of the model through an interface that {said}."
        assert (f"Not the bare model. {line}" in ran.err) is (said is not None)
        page = plain((out / "harden.html").read_text())
        assert (line in page) is ("Not the bare model" in page) is (said is not None)
        assert json.loads((out / "harden.json").read_text())["interface"] == said


def test_a_run_in_python_names_the_interface(behind):
    bare, run, said = Run.open(behind[0]), Run.open(behind[1]), behind[2]
    assert repr(run).endswith(f"users, through an interface that {said})")
    assert f"<th>through an interface that</th><td>{said}</td>" in run._repr_html_()
    assert "interface" not in repr(bare) + bare._repr_html_()
