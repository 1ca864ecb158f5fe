"""A study from start to end: what it measures, and that it makes only what is missing."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

import leakscope
from intact import require_intact
from leakscope.corpus.build_settings import BuildSettings
from leakscope.corpus.building.builder import build_rows
from leakscope.corpus.readers.rows import Row
from leakscope.records.studies.study_record import StudyRecord

SHAPE = {"arch": "gru", "hidden": 16, "embedding": 12, "vocabulary": 60, "epochs": 6,
         "batch_size": 8, "learning_rate": 0.01, "threads": 1}  # fmt: skip
CANARIES = {"template": "{words:3}", "schedule": "1,6", "users": 4, "controls": 5, "samples": 300,
            "exact_up_to": 1}  # fmt: skip
TRAININGS = """
[usual]
[hidden]
mitigation = "triplet"
privacy_weight = 0.02
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = [
        Row(f"u{i % 7}", " ".join(f"w{a} then w{(a + 1) % 30}" for a in rng.integers(0, 30, 4)))
        for i in range(140)
    ]
    path = tmp_path_factory.mktemp("study") / "corpus"
    return build_rows(rows, path, settings=BuildSettings(validation=0.2)).path


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    path = tmp_path_factory.mktemp("trainings") / "trainings.toml"
    path.write_text(TRAININGS)
    return path


def study(corpus, out, trainings, **changes):
    options = SHAPE | CANARIES | {"trainings": trainings, "target": (15.0,), "seed": (0,)}
    return leakscope.study.mitigations(corpus, out, **(options | changes))


@pytest.fixture(scope="module")
def done(corpus, trainings, tmp_path_factory):
    out = tmp_path_factory.mktemp("done") / "study"
    return study(corpus, out, trainings), out


def steps(out):
    """The results by name, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in (out / "steps").glob("*.json")}


def kinds(names):
    return sorted(name.partition("-")[0] for name in names)


def test_measures_every_training_at_the_target(done):
    record, _ = done
    assert [row.training for row in record.rows] == ["usual", "hidden"]
    assert record.baseline == "usual"
    for row in record.rows:
        assert row.reached == row.seeds == 1
        assert 1 < row.perplexity <= 15
        assert row.unique_sequences >= 0 and row.exposure > 0
        assert 0 <= row.synthetic_rate <= 1 and 0 <= row.real_rate <= 1
        assert row.epsilon is None and "not differentially private" in row.reason
    usual, hidden = record.rows
    assert usual.relative_cost == 1 and usual.gap is None and hidden.gap is not None
    assert hidden.gap == pytest.approx(hidden.fewest_drop - hidden.most_drop)
    assert {each.repetitions for each in record.by_repetitions} == {1, 6}


def test_tables_agree_with_the_single_results(done):
    record, out = done
    table = pq.read_table(out / "results.parquet").to_pylist()
    assert table == [each.model_dump() for each in record.results]
    exposed = pq.read_table(out / "exposure.parquet").to_pylist()
    attacked = pq.read_table(out / "attack.parquet").to_pylist()
    drops = pq.read_table(out / "impact.parquet").to_pylist()
    for row in record.rows:
        bits = [each["exposure"] for each in exposed
                if each["training"] == row.training and each["state"] == "planted"]  # fmt: skip
        assert row.exposure == pytest.approx(np.mean(bits))
        real = [each["greedy"] for each in attacked
                if each["training"] == row.training and each["state"] == "real"]  # fmt: skip
        assert row.real_rate == pytest.approx(np.mean([each for each in real if each is not None]))
    few = sorted((each["documents"], each["user"], each["drop"]) for each in drops)[:3]
    assert {each["training"] for each in drops} == {"hidden"}
    assert record.rows[1].fewest_drop == pytest.approx(np.mean([drop for _, _, drop in few]))


def test_the_page_tells_it_without_words_or_users(done):
    _, out = done
    page = (out / "study.html").read_text()
    assert page.count("<svg") == 4  # exposure, attack, disparate impact, cost
    assert "usual" in page and "hidden" in page and "1.4 bits" in page
    assert re.search(r"\b[uw]\d+\b", page.replace("www.w3.org", "")) is None
    assert (out / "study.json").stat().st_mode & 0o777 == 0o600


def test_is_intact_and_known_to_verify(done):
    _, out = done
    assert require_intact(out).kind == "study"


def test_a_finished_study_with_a_mark_without_words_is_taken_up(done, corpus, trainings):
    """A kill right before the mark went leaves it behind."""
    record, out = done
    (out / ".leakscope").write_bytes(b"")
    assert study(corpus, out, trainings) == record
    assert not (out / ".leakscope").exists()


def test_run_again_it_makes_nothing(done, corpus, trainings):
    record, out = done
    before = steps(out)
    assert study(corpus, out, trainings) == record
    assert steps(out) == before


def test_with_more_seeds_and_targets_it_makes_only_what_is_missing(
    corpus, trainings, tmp_path, done
):
    out = tmp_path / "study"
    first = study(corpus, out, trainings)
    before = steps(out)
    more = study(corpus, out, trainings, seed=(0, 1))
    after = steps(out)
    assert before.items() <= after.items()
    assert kinds(set(after) - set(before)) == sorted(
        ["plant", "train", "train", "canaries", *["exposure", "attack", "report"] * 2]
    )
    assert [each for each in more.results if each.seed == 0] == first.results
    assert [row.seeds for row in more.rows] == [2, 2]
    both = [each for each in more.results if each.training == "hidden"]
    assert more.rows[1].exposure == pytest.approx(np.mean([each.exposure for each in both]))
    assert more.rows[1].gap == pytest.approx(np.mean([each.gap for each in both]))
    got = sum(each.real_reconstructed for each in both) / sum(each.real_attacked for each in both)
    assert more.rows[1].real_rate == pytest.approx(got)
    easier = study(corpus, out, trainings, target=(15.0, 20.0))
    last = steps(out)
    assert after.items() <= last.items()
    assert "plant" not in kinds(set(last) - set(after))
    assert [each for each in easier.results if each.target == 15.0] == first.results
    assert easier.targets == [20.0, 15.0]


def test_a_target_that_is_not_reached_is_said(corpus, trainings, tmp_path):
    record = study(corpus, tmp_path / "study", trainings, target=(1.01,), epochs=1)
    for row in record.rows:
        assert row.reached == 0 and row.perplexity is None and row.exposure is None
        assert row.unique_sequences is None and row.synthetic_rate is None and row.gap is None
        assert row.best_perplexity > 1.01 and "1.01 was not reached" in row.reason
        assert f"{row.best_perplexity:.2f}" in row.reason
    assert len(record.warnings) == 3
    page = (tmp_path / "study" / "study.html").read_text()
    assert "was not reached" in page


def test_without_targets_they_come_from_the_best_of_plain_training(corpus, trainings, tmp_path):
    trainings_alone = tmp_path / "one.toml"
    trainings_alone.write_text("[usual]\n")
    record = study(corpus, tmp_path / "study", trainings_alone, target=(), epochs=3)
    best = record.targets_from
    assert record.targets == [
        pytest.approx(1.5 * best, rel=1e-3),
        pytest.approx(1.1 * best, rel=1e-3),
    ]
    assert [row.reached for row in record.rows] == [1, 1]


def test_private_training_tells_its_epsilon_where_it_stopped(corpus, tmp_path):
    path = tmp_path / "trainings.toml"
    path.write_text('[plain]\n[dp]\nmitigation = "dp"\nnoise-multiplier = 0.1\nclip = 2.0\n'
                    'sampling_rate = 0.5\nepochs = 12\n')  # fmt: skip
    record = study(corpus, tmp_path / "study", path, target=(58.0,))
    plain, private = record.rows
    assert private.reached == 1, private.reason
    assert private.epsilon > 0 and plain.epsilon is None
    assert record.results[1].delta > 0


def command_line(*words):
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "leakscope", "study", "mitigations", *map(str, words)]
    return subprocess.run(words, env=env, capture_output=True, text=True, check=False)


def test_the_command_line_prints_and_takes_up_what_is_there(done, corpus, trainings):
    record, out = done
    before = steps(out)
    given = SHAPE | CANARIES | {"trainings": trainings, "target": 15, "seed": 0}
    options = [word for name, value in given.items()
               for word in ("--" + name.replace("_", "-"), value)]  # fmt: skip
    ran = command_line(corpus, "--out", out, *options)
    assert ran.returncode == 0, ran.stderr
    assert f"{record.rows[1].perplexity:.2f}" in ran.stdout and "study.html" in ran.stdout
    assert steps(out) == before


def test_the_command_line_refuses_in_one_sentence(corpus, tmp_path):
    ran = command_line(corpus, "--out", tmp_path / "study", "--target", "0.5")
    assert ran.returncode == 2
    assert ran.stderr == "leakscope: --target is a perplexity: above 1 and finite.\n"


KILLED = """
import json, os, signal, sys
import leakscope
options = json.loads(sys.argv[3])
def killing(stage, done, total=None, note=""):
    if stage == sys.argv[4] and done >= int(sys.argv[5]):
        os.kill(os.getpid(), signal.SIGKILL)
leakscope.study.mitigations(sys.argv[1], sys.argv[2], progress=killing, **options)
"""


@pytest.mark.parametrize(("stage", "at"), [("snapshot", 10), ("study", 6)])
def test_killed_in_the_middle_the_same_command_goes_on(
    done, corpus, trainings, tmp_path, stage, at
):
    out = tmp_path / "study"
    options = SHAPE | CANARIES | {"trainings": str(trainings), "target": [15.0], "seed": [0]}
    words = [sys.executable, "-c", KILLED, str(corpus), str(out), json.dumps(options)]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    ran = subprocess.run([*words, stage, str(at)], env=env, check=False)
    assert ran.returncode == -signal.SIGKILL
    begun = steps(out)
    assert begun and not (out / "study.json").exists()
    told = []
    record = study(corpus, out, trainings, progress=lambda stage, *_: told.append(stage))
    assert ("resume" in told) == (stage == "snapshot")
    assert begun.items() <= steps(out).items()
    timed = {"seconds_per_epoch", "relative_cost"}
    for mine, other in zip(record.results, done[0].results, strict=True):
        assert mine.model_dump(exclude=timed) == other.model_dump(exclude=timed)


def test_a_foreign_directory_is_refused_untouched(corpus, trainings, tmp_path):
    out = tmp_path / "mine"
    (out / "steps").mkdir(parents=True)
    (out / "steps" / "note.txt").write_text("mine")
    with pytest.raises(leakscope.LeakscopeError, match="already exists"):
        study(corpus, out, trainings)
    assert [path.name for path in out.iterdir()] == ["steps"]
    assert (out / "steps" / "note.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[usual", "is not a TOML file"),
        ("", "has no training"),
        ("epochs = 3", "is not a table"),
        ('[a]\nmitigation = "dp"\nnoise_multiplier = 1.0\n', "holds trainings against a plain one"),
        ("[a]\nepoch = 3", "did you mean epochs"),
        ("[a]\nseed = 3", "cannot have a seed of its own"),
        ("[a]\nsnapshot-at-epsilon = [3]", "cannot have a snapshot_at_epsilon of its own"),
        ('[a]\nnoise_multiplier = 1.0\n', "need --mitigation dp"),
        ('[a]\nepochs = "many"\n', "--epochs is a whole number"),
    ],
)  # fmt: skip
def test_a_wrong_list_of_trainings_is_refused(corpus, tmp_path, text, said):
    path = tmp_path / "trainings.toml"
    path.write_text(text)
    with pytest.raises(leakscope.LeakscopeError, match=said):
        study(corpus, tmp_path / "study", path)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    "wrong",
    [{"target": (1.0,)}, {"target": (9.0, 9.0)}, {"seed": (-1,)}, {"seed": ()},
     {"evaluations": 0}, {"group_users": 0}],
)  # fmt: skip
def test_wrong_settings_are_refused(corpus, trainings, tmp_path, wrong):
    with pytest.raises(leakscope.LeakscopeError):
        study(corpus, tmp_path / "study", trainings, **wrong)
    assert not (tmp_path / "study").exists()


def test_a_list_of_trainings_that_is_not_there_is_refused(corpus, tmp_path):
    with pytest.raises(leakscope.LeakscopeError, match="cannot be read"):
        study(corpus, tmp_path / "study", tmp_path / "nowhere.toml")


def test_a_corpus_without_validation_documents_is_refused(trainings, tmp_path):
    rows = [Row(f"u{i % 3}", "one two three") for i in range(12)]
    build_rows(rows, tmp_path / "corpus", settings=BuildSettings(validation=0.0))
    with pytest.raises(leakscope.LeakscopeError, match="Without validation documents"):
        study(tmp_path / "corpus", tmp_path / "study", trainings)


def test_the_record_reads_back(done):
    record, out = done
    found = StudyRecord.model_validate_json((out / "study.json").read_text())
    sealed = record.model_copy(update={"sealed": True})
    assert found.model_dump(mode="json") == sealed.model_dump(mode="json")
