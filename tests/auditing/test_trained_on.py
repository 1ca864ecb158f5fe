"""What a model from elsewhere was trained on: told, or refused, or doubted."""

import json

import pyarrow.parquet as pq
import pytest

from leakscope.auditing.callback import LeakageCallback, report_on
from leakscope.commands.compare import compare
from leakscope.commands.harden import harden
from leakscope.commands.report import report
from leakscope.commands.train import train
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.models.word.architecture import Architecture
from leakscope.records.errors import LeakscopeError
from leakscope.records.runs.report_settings import ReportSettings
from leakscope.records.runs.run_manifest import open_run
from leakscope.training.train_settings import TrainSettings
from memorizing_causal import memorizing, random_rows

ROWS = random_rows(60)
COUNTS = ("sequence", "total_in_s", "users_in_s", "total_in_d", "users_in_d")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Models that learned all rows by heart, only the training ones, and none; and the rows as a
    corpus that was drawn here, one that says its split, and one that holds nothing out.
    """
    root = tmp_path_factory.mktemp("made")
    texts = {
        "all": [row.text for row in ROWS],
        "train": [row.text for row in ROWS if row.split == "train"],
        "none": [],
    }
    for name, known in texts.items():
        for part in memorizing(known):
            part.save_pretrained(root / name)
    plain = [row._replace(split=None) for row in ROWS]
    build_rows(plain, root / "drawn", settings=BuildSettings(validation=0.25))
    build_rows(ROWS, root / "told", split_given=True)
    build_rows(plain, root / "whole", settings=BuildSettings(validation=0.0))
    return root


def counts_in(run):
    rows = pq.read_table(run / "sequences.parquet", columns=list(COUNTS)).to_pylist()
    return {tuple(row["sequence"]): [row[name] for name in COUNTS[1:]] for row in rows}


def test_a_corpus_that_does_not_say_is_refused_with_the_three_ways(made, tmp_path):
    with pytest.raises(LeakscopeError) as refused:
        report(made / "all", made / "drawn", tmp_path / "r", threads=1)
    for way in ("--trained-on all", "--trained-on train", "--split-column", "--validation 0"):
        assert way in str(refused.value)
    assert not (tmp_path / "r").exists()
    with pytest.raises(LeakscopeError, match="--trained-on all"):
        report("http://127.0.0.1:1/v1", made / "drawn", tmp_path / "r", endpoint_model="m")
    net, tok = memorizing([])
    with pytest.raises(LeakscopeError, match="--trained-on all"):
        report_on(net, tok, made / "drawn", tmp_path / "r")
    trainer = type("Trainer", (), {"model": net, "processing_class": tok})
    with pytest.raises(LeakscopeError, match="--trained-on all"):  # now, not after an epoch
        LeakageCallback(trainer, made / "drawn", tmp_path / "r")
    LeakageCallback(trainer, made / "drawn", tmp_path / "r", ReportSettings(trained_on="all"))
    LeakageCallback(trainer, made / "told", tmp_path / "r")
    with pytest.raises(LeakscopeError, match="all or train"):
        report(made / "all", made / "drawn", tmp_path / "r", trained_on="some")


def test_trained_on_all_is_the_report_on_a_corpus_that_holds_nothing_out(made, tmp_path):
    asked = ReportSettings(reveal=True, trained_on="all", least_context=20)
    found = report(made / "all", made / "drawn", tmp_path / "r", asked, threads=1).metrics
    told = report(made / "all", made / "whole", tmp_path / "w", reveal=True, threads=1).metrics
    assert found.words == sum(len(row.text.split()) for row in ROWS) == told.words
    assert (found.documents, found.users) == (len(ROWS), 8) == (told.documents, told.users)
    assert counts_in(tmp_path / "r") == counts_in(tmp_path / "w")
    assert found.unique_sequences == told.unique_sequences > 20
    users = pq.read_table(tmp_path / "r" / "users.parquet")
    assert sum(users["words"].to_pylist()) == found.words
    assert found.validation_perplexity is None and found.validation_accuracy is None
    assert "trained on all documents" in found.reasons["validation_perplexity"]
    assert found.notices == ()
    manifest = open_run(tmp_path / "r")[0]
    assert manifest.settings.trained_on == "all" == manifest.trained_on
    assert open_run(tmp_path / "w")[0].trained_on == "train"  # the same, where that is all
    points = harden(tmp_path / "r", made / "drawn", tmp_path / "h")
    assert points[-1].unique_sequences == found.unique_sequences
    assert (tmp_path / "h" / "blocklist.bloom").exists()
    less = report(
        made / "all", made / "drawn", tmp_path / "t", ReportSettings(trained_on="train"), threads=1
    ).metrics
    assert less.words < found.words and less.unique_sequences < found.unique_sequences
    with pytest.raises(LeakscopeError, match="different parts of the corpus"):
        compare([tmp_path / "r", tmp_path / "t"])
    assert len(compare([tmp_path / "r", tmp_path / "t"], allow_mixed=True)) == 2
    with pytest.raises(LeakscopeError, match="different --trained-on"):
        harden(tmp_path / "r", made / "drawn", tmp_path / "h2", also=(tmp_path / "t",))
    assert not (tmp_path / "h2").exists()  # half of a hardening serves nobody


def test_a_model_that_knows_what_was_held_out_is_noticed(made, tmp_path):
    perplexities = {}
    for name in ("all", "train", "none"):
        out = tmp_path / name
        found = report(made / name, made / "told", out, least_context=0, threads=1).metrics
        perplexities[name] = found.train_perplexity, found.validation_perplexity
        noticed = [line for line in found.notices if "probably trained on the held-out" in line]
        assert bool(noticed) == (name == "all"), (name, found.notices, perplexities)
        page = (out / "report.html").read_text(encoding="utf-8")
        assert ("probably trained on the held-out" in page) == (name == "all")
    assert max(perplexities["all"]) < 3 < 10 < perplexities["train"][1], perplexities
    compared = compare([tmp_path / "all", tmp_path / "train"], tmp_path / "c")
    told = json.loads((tmp_path / "c" / "compare.json").read_text(encoding="utf-8"))["warnings"]
    assert len(compared) == 2 and sum("probably trained" in line for line in told) == 1


def test_the_training_perplexity_is_sampled_with_its_interval(made, tmp_path):
    sampled = report(made / "train", made / "told", tmp_path / "r", threads=1).metrics
    exact = report(
        made / "train", made / "told", tmp_path / "f", full_perplexity=True, threads=1
    ).metrics
    # The corpus is smaller than a sample, so that all of it is one.
    assert sampled.train_perplexity == pytest.approx(exact.train_perplexity, rel=1e-5)
    low, high = sampled.train_perplexity_low, sampled.train_perplexity_high
    assert 1 < low < sampled.train_perplexity < high
    assert exact.train_perplexity_low is None
    hidden = report(made / "train", made / "told", tmp_path / "h", confidence=2.0, threads=1)
    assert hidden.metrics.train_perplexity is None
    assert "hides answers" in hidden.metrics.reasons["train_perplexity"]


def test_leakscope_knows_what_its_own_models_were_trained_on(made, tmp_path):
    tiny = TrainSettings(Architecture("gru", 1, 4, 6), vocabulary=50, epochs=1, batch_size=4)
    train(made / "drawn", tmp_path / "m", tiny)
    with pytest.raises(LeakscopeError, match="leave out --trained-on"):
        report(tmp_path / "m", made / "drawn", tmp_path / "r", trained_on="all")
    assert not (tmp_path / "r").exists()
    report(tmp_path / "m", made / "drawn", tmp_path / "r", trained_on="train", threads=1)
    assert open_run(tmp_path / "r")[0].settings.trained_on is None
