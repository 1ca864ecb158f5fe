import json
import re
import stat
from dataclasses import replace

import pytest

from leakscope.records.errors import LeakscopeError
from leakscope.reporting.comparison.compare_page import write_comparison
from leakscope.reporting.comparison.compared_runs import (
    cautions,
    differences,
    is_snapshots,
    load_runs,
)
from leakscope.reporting.comparison.compared_table import compare_rows
from report_runs import WORD


def test_runs_come_in_the_order_given_and_directories_of_runs_by_name(make_run, make_snapshots):
    snaps = make_snapshots(3)
    alone = make_run("alone", name="alone")
    names = [run.label for run in load_runs([alone, snaps])]
    assert names == ["alone", "epoch-001", "epoch-002", "epoch-003"]


def test_no_run_is_refused(tmp_path):
    with pytest.raises(LeakscopeError, match="at least one"):
        load_runs([])
    with pytest.raises(LeakscopeError, match="holds none"):
        load_runs([tmp_path])
    with pytest.raises(LeakscopeError, match="not a run directory"):
        load_runs([tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("other", "what"), [({"corpus": "other"}, "corpora"), ({"top_k": 3}, "top-k")]
)
def test_runs_that_do_not_compare_are_refused_unless_asked_for(make_run, tmp_path, other, what):
    paths = [make_run("a"), make_run("b", **other)]
    with pytest.raises(LeakscopeError, match=what):
        load_runs(paths)
    runs = load_runs(paths, allow_mixed=True)
    assert what in differences(runs)[0]
    page = write_comparison(runs, tmp_path / "out").read_text()
    assert "Not comparable" in page and what in page


def test_repeated_names_are_told_apart_by_directory(make_run):
    labels = [run.label for run in load_runs([make_run("a"), make_run("b")])]
    assert labels == ["a model (a)", "a model (b)"]


def test_snapshots_are_of_one_training_at_different_steps(make_run, make_snapshots):
    snaps = load_runs([make_snapshots(3)])
    assert is_snapshots(snaps)
    assert not is_snapshots(snaps[:1])
    assert not is_snapshots([snaps[0], snaps[0]])
    assert not is_snapshots([*snaps, *load_runs([make_run("alone")])])


def test_snapshots_may_fall_on_one_step(make_snapshots, tmp_path):
    snaps = load_runs([make_snapshots(3)])
    named = snaps[1].manifest.model_copy(update={"name": "epsilon-9"})
    twin = replace(snaps[1], manifest=named)
    assert is_snapshots([*snaps, twin])
    assert not is_snapshots([snaps[1], twin])
    other = replace(twin, manifest=named.model_copy(update={"model_digest": "other weights"}))
    assert not is_snapshots([*snaps, other])
    pages = [
        write_comparison(runs, tmp_path / name).read_text()
        for name, runs in (("a", snaps), ("b", [*snaps, twin]))
    ]
    assert "4 snapshots of one training" in pages[1]
    drawn = [re.findall(r"<svg.*?</svg>", page, re.DOTALL)[:3] for page in pages]
    assert drawn[0] and drawn[0] == drawn[1]


def test_rows_are_the_metrics_and_nulls_keep_their_reasons(make_run):
    (run,) = load_runs([make_run(validation_accuracy={3: 0.5})])
    (row,) = compare_rows([run])
    plain = run.metrics.model_dump(mode="json")
    for name in plain.keys() - {"validation_accuracy", "reasons"}:
        assert row[name] == plain[name]
    assert row["validation_accuracy"] is None  # k is 1, and only 3 was measured
    assert row["reasons"]["validation_accuracy"] == "not measured at top-1"
    assert row["leakage_epsilon"] is None


def test_the_snapshot_figures_have_a_group_for_each_snapshot(make_snapshots, tmp_path):
    runs = load_runs([make_snapshots(5)])
    page = write_comparison(list(reversed(runs)), tmp_path / "out").read_text()
    drawings = re.findall(r"<svg.*?</svg>", page, re.S)
    assert len(drawings) == 4
    curves, lengths, perplexities, tradeoff = drawings
    assert curves.count("<circle") == 2 * 5 + 2  # two series and their legend
    assert curves.count("<polygon") == 1
    assert lengths.count('<g class="snapshot">') == 5
    assert perplexities.count('<g class="snapshot">') == 5
    assert perplexities.count('class="mark"') == 5
    assert tradeoff.count("<circle") == 5
    assert "epoch 1: train 90.00, validation 100.00; epoch 2" in curves  # in training order


def test_other_runs_have_only_the_tradeoff(make_run, tmp_path):
    known = make_run("a", name="a", validation_accuracy={1: 0.2})
    page = write_comparison(load_runs([known, make_run("b", name="b")]), tmp_path / "o").read_text()
    assert page.count("<svg") == 1 and page.count("<circle") == 1


def test_figures_that_cannot_be_drawn_say_why(make_run, tmp_path):
    page = write_comparison(load_runs([make_run()]), tmp_path / "out").read_text()
    assert "<svg" not in page
    assert "why validation_accuracy is null" in page


def test_the_table_shows_metrics_and_dashes_with_reasons(make_snapshots, tmp_path):
    out = tmp_path / "out"
    page = write_comparison(load_runs([make_snapshots(2)]), out).read_text()
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>.*?</tr>", page)]
    assert cells[1:] == [
        ["100.0", "10.00", "1", "–", "2", "2", "2"],
        ["50.00", "20.00", "2", "–", "4", "2", "3"],
    ]
    assert "Leakage epsilon: why leakage_epsilon is null" in page
    plain = json.loads((out / "compare.json").read_text())
    assert plain["snapshots"] is True and plain["warnings"] == []
    assert [row["leakage_epsilon"] for row in plain["runs"]] == [None, None]
    assert stat.S_IMODE((out / "compare.html").stat().st_mode) == 0o600


def test_the_page_escapes_names_and_loads_nothing(make_run, tmp_path):
    attack = "</script><img src=x onerror=alert(1)>"
    run = make_run(name=attack, validation_accuracy={1: 0.2})
    page = write_comparison(load_runs([run]), tmp_path / "out").read_text()
    assert "<img" not in page and page.count("</script>") == 1
    assert not re.search(r"https?://", page.replace("http://www.w3.org/2000/svg", ""))
    assert "zebra" not in page  # no training text, even of a revealed run


def on_corpus(run, corpus, made_from=(), model_of=None):
    """The run as if made on a corpus, which was made from others."""
    told = {"corpus_digest": model_of or corpus, "corpus_inputs": list(made_from)}
    model = run.manifest.model.model_copy(update=told)
    manifest = run.manifest.model_copy(update={"corpus_digest": corpus, "model": model})
    return replace(run, manifest=manifest)


@pytest.mark.parametrize(
    ("corpora", "related"),
    [
        ([("c", []), ("d", ["c"])], True),
        ([("d", ["c"]), ("c", [])], True),
        ([("e", ["d"]), ("c", []), ("d", ["c"])], True),
        ([("c", []), ("d", ["c"]), ("e", ["c"])], True),
        ([("d", ["c"]), ("e", ["c"])], False),
        ([("c", []), ("e", ["d"])], False),
        ([("c", []), ("d", ["c"]), ("x", ["file"])], False),
        ([("c", ["file"]), ("d", ["file"])], False),
    ],
)
def test_a_corpus_compares_with_the_one_that_it_was_made_from(make_run, corpora, related):
    (run,) = load_runs([make_run("a", model=WORD)])
    runs = [on_corpus(run, *each) for each in corpora]
    assert any("different corpora" in line for line in differences(runs)) != related
    assert any("made from those of others" in line for line in cautions(runs)) == related
    assert cautions([run, run]) == cautions([run]) * 2


def test_only_a_model_of_the_corpus_says_what_that_was_made_from(make_run):
    (run,) = load_runs([make_run("a", model=WORD)])
    (elsewhere,) = load_runs([make_run("b")])
    strange = on_corpus(run, "d", ["c"], model_of="x")
    assert differences([on_corpus(run, "c"), strange]) != []
    assert differences([on_corpus(run, "d", ["c0"]), elsewhere]) != []
