"""Verdicts and interfaces as a user meets them: printed, in the records, on pages, in compare."""

import json

import pytest

from leakscope.records.block_lists.block_list import BlockList


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
