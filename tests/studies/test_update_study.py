"""A study of updates from start to end: what it measures, and that nothing is made twice."""

import json
import os
import re
import shutil
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
from leakscope.corpus.split import TRAIN, VALIDATION
from leakscope.corpus.store import Corpus
from leakscope.models.word.model_directory import load_config, words_of
from leakscope.records.studies.update_study_record import UpdateStudyRecord

SHAPE = {"arch": "gru", "hidden": 24, "embedding": 12, "vocabulary": 90, "epochs": 5,
         "batch_size": 8, "learning_rate": 0.01, "threads": 1}  # fmt: skip
CONTROLS = 2
QUICK = {"template": "{words:3}", "length": 3, "insertions": (2, 20), "controls": CONTROLS}
WORDS = [a + b for a in ("ba", "ce", "di", "fo", "gu", "ha", "ki", "lo") for b in "bcdfgklmnp"]
USERS = 8
SECRETS = {f"user{i}": [WORDS[(7 * i + 11 * j + 3) % 80] for j in range(3)] for i in range(USERS)}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    rng = np.random.default_rng(0)
    share = np.arange(len(WORDS), 0, -1.0)
    rows = [
        Row(f"user{i % USERS}", " ".join(rng.choice(WORDS, 6, p=share / share.sum())))
        for i in range(160)
    ]
    rows += [Row(user, " ".join(said)) for user, said in SECRETS.items() for _ in range(12)]
    path = tmp_path_factory.mktemp("study") / "corpus"
    return build_rows(rows, path, settings=BuildSettings(validation=0.1)).path


def study(corpus, out, **changes):
    return leakscope.study.updates(corpus, out, **(SHAPE | QUICK | changes))


@pytest.fixture(scope="module")
def done(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("done") / "study"
    return study(corpus, out, known=(0, 1)), out


@pytest.fixture
def copied(done, tmp_path):
    shutil.copytree(done[1], tmp_path / "copy")
    return tmp_path / "copy"


def steps(out):
    """The results by name, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in (out / "steps").glob("*.json")}


def kinds(names):
    return sorted(name.partition("-")[0] for name in names)


def table(path):
    return pq.read_table(path).to_pylist()


def planted_rows(out):
    """Of the canaries that the updates have."""
    return [row for row in table(out / "results.parquet") if row["planted"]]


def of_kind(out, kind):
    """What each result of a kind was made from, with its path."""
    return [
        (json.loads(path.read_text())["made_from"], path.with_suffix(""))
        for path in sorted((out / "steps").glob(f"{kind}-*.json"))
    ]


def test_every_condition_has_a_row_for_each_class(done):
    record, out = done
    rows = planted_rows(out)
    keys = {(row["scenario"], row["insertions"], row["known"], row["frequency"]) for row in rows}
    assert len(rows) == len(keys) == len(record.rows) == 2 * 2 * 2 * 4
    assert {row["frequency"] for row in rows} == {"all-low", "low-to-high", "mixed", "high-to-low"}
    assert all(row["score"] is not None and row["rank"] is not None for row in rows)
    assert {row["length"] for row in rows if row["known"] == 1} == {2}
    assert len(table(out / "found.parquet")) == len(record.found) == 4


def test_more_insertions_expose_more(done):
    record, _ = done
    for scenario in ("retrain", "continue"):
        few, often = (
            np.mean([row.score for row in record.rows
                     if (row.scenario, row.insertions, row.known) == (scenario, times, 0)])
            for times in (2, 20)
        )  # fmt: skip
        assert often > few + 0.5
    zero = [row for row in record.rows if (row.scenario, row.insertions) == ("continue", 20)]
    assert sum(row.rank_zero for row in zero) > 4


def test_the_canaries_are_the_same_for_every_number_of_insertions(done):
    _, out = done
    told = [json.loads((path / "canaries.json").read_text()) for _, path in of_kind(out, "plant")]
    texts = [[each["text"] for each in one["canaries"]] for one in told]
    assert len(texts) == 2 and texts[0] == texts[1] and len(set(texts[0])) == 4 * (1 + CONTROLS)
    assert {each["repetitions"] for one in told for each in one["canaries"]} == {0, 2, 20}


def test_controls_are_measured_beside_the_canaries_and_score_less(done):
    record, out = done
    controls = [row for row in table(out / "results.parquet") if not row["planted"]]
    assert len(controls) == CONTROLS * len(record.rows)
    for row in record.rows:
        mine = [
            each["score"] for each in controls
            if all(each[name] == getattr(row, name)
                   for name in ("scenario", "insertions", "known", "frequency"))
        ]  # fmt: skip
        assert row.controls == CONTROLS and row.control_score == pytest.approx(np.mean(mine))
        assert row.control_high == max(mine)
        if row.insertions == 20 and row.scenario == "continue":
            assert row.score > row.control_high + 0.5
    assert "never inserted" in (out / "study.html").read_text()


def test_more_controls_change_no_planted_text(done, corpus, tmp_path):
    _, out = done
    asked = {"scenario": ("continue",), "insertions": (2,), "epochs": 1}
    study(corpus, tmp_path / "study", controls=0, **asked)
    digests = {
        Corpus.open(path / "corpus").manifest.digest
        for where in (out, tmp_path / "study")
        for made_from, path in of_kind(where, "plant")
        if made_from["settings"]["schedule"] == "2"
    }
    assert len(digests) == 1


def test_all_models_share_one_vocabulary_that_has_the_canaries_words(done):
    _, out = done
    models = [path for _, path in of_kind(out, "train")]
    assert len(models) == 5
    assert len({tuple(words_of(path)) for path in models}) == 1
    known = set(words_of(models[0]))
    for _, path in of_kind(out, "plant"):
        canaries = json.loads((path / "canaries.json").read_text())["canaries"]
        assert all(set(each["words"]) <= known for each in canaries)
    seeds = sorted(load_config(path).training["seed"] for path in models)
    assert seeds == [0, 1, 1, 1, 1]
    started = [load_config(path).initialized_from for path in models]
    assert sum(each is not None for each in started) == 2
    assert not any(list(path.glob("snapshots/*")) for path in models)


def test_the_table_is_what_diff_says_of_the_kept_models(done, tmp_path):
    record, out = done
    rows = table(out / "results.parquet")
    models = {load_config(path).corpus_digest: path for _, path in of_kind(out, "train")}
    old = models[record.corpus_digest]
    for _, planted in of_kind(out, "plant"):
        new = models[Corpus.open(planted / "corpus").manifest.digest]
        for known in (0, 1):
            there = tmp_path / f"{planted.name}-{known}"
            leakscope.diff(old, new, there, canaries=planted, length=3, known=known, threads=1)
            scores = table(there / "scores.parquet")
            mine = [row for row in rows
                    if (row["scenario"], row["insertions"], row["known"])
                    == ("retrain", scores[0]["repetitions"], known)]  # fmt: skip
            for direct, kept in zip(scores, mine, strict=True):
                for name in ("frequency", "score", "relative_score", "rank", "rank_method"):
                    assert direct[name] == kept[name]


def test_without_the_other_canaries_ranks_are_lower(done):
    _, out = done
    rows = [row for row in planted_rows(out) if row["known"] == 0]
    for row in rows:
        before = sum(
            other["score"] > row["score"] + 1e-4
            for other in rows
            if (other["scenario"], other["insertions"]) == (row["scenario"], row["insertions"])
        )
        assert row["rank_apart"] == row["rank"] - before >= 0


def test_the_page_tells_it_without_words_or_users(done):
    _, out = done
    page = (out / "study.html").read_text()
    assert page.count("<svg") == 2  # for each scenario by insertions
    assert "to somebody who knows 1 of their words" in page
    assert "20 insertions" in page and "● rank 0" in page and "canaries have rank 0" in page
    assert re.search(r"user\d", page) is None
    assert not any(f" {word} " in page for word in WORDS)
    assert (out / "study.json").stat().st_mode & 0o777 == 0o600
    for path in (out / "steps").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_is_intact_and_known_to_verify(done):
    _, out = done
    assert require_intact(out).kind == "study"


def test_run_again_it_makes_nothing(done, corpus):
    record, out = done
    before = steps(out)
    assert study(corpus, out, known=(0, 1)) == record
    assert steps(out) == before


def test_with_more_insertions_it_makes_only_what_is_missing(done, copied, corpus):
    record, _ = done
    before = steps(copied)
    more = study(corpus, copied, insertions=(2, 20, 5))
    after = steps(copied)
    assert before.items() <= after.items()
    new = kinds(set(after) - set(before))
    assert new == sorted(["plant", "corpus", "train", "train", "diff", "diff"])
    again = [row for row in more.rows if row.insertions != 5]
    assert again == [row for row in record.rows if row.known == 0]


KILLED = """
import json, os, signal, sys
import leakscope
def killing(stage, done, total=None, note=""):
    if stage == "study" and done >= 2:
        os.kill(os.getpid(), signal.SIGKILL)
leakscope.study.updates(*sys.argv[1:3], progress=killing, **json.loads(sys.argv[3]))
"""


def test_killed_in_the_middle_the_same_command_goes_on(done, corpus, tmp_path):
    out = tmp_path / "study"
    words = [sys.executable, "-c", KILLED, str(corpus), str(out)]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    ran = subprocess.run([*words, json.dumps(SHAPE | QUICK)], env=env, check=False)
    assert ran.returncode == -signal.SIGKILL
    begun = steps(out)
    assert begun and not (out / "study.json").exists()
    record = study(corpus, out)
    assert begun.items() <= steps(out).items()
    assert record.rows == [row for row in done[0].rows if row.known == 0]


def test_extra_text_comes_from_users_that_the_first_model_never_saw(corpus, tmp_path):
    out = tmp_path / "study"
    options = {"scenario": ("retrain", "continue", "two-stage"), "insertions": (20,)}
    record = study(corpus, out, pool=0.5, extra=(0.0, 0.5, 1.0), **options)
    assert {(row.scenario, row.extra) for row in record.rows} == {
        (scenario, extra)
        for scenario in ("retrain", "continue", "two-stage")
        for extra in (0.0, 0.5, 1.0)
        if extra or scenario != "two-stage"
    }
    whole = Corpus.open(corpus)
    corpora = [Corpus.open(path) for _, path in of_kind(out, "corpus")]
    users = {each.manifest.digest: each.manifest.train.users for each in corpora}
    base = min(corpora, key=lambda each: (each.manifest.train.users != 4, each.path))
    assert sorted(users.values())[-1] == USERS and base.manifest.train.users == 4
    for each in corpora:
        assert each.manifest.validation == whole.manifest.validation
        assert documents(each, VALIDATION) == documents(whole, VALIDATION)
    (planted,) = (path for _, path in of_kind(out, "plant"))
    canaries = json.loads((planted / "canaries.json").read_text())["canaries"]
    largest = max(corpora, key=lambda each: each.manifest.train.documents)
    added = [(each["user"], each["text"]) for each in canaries if each["user"]
             for _ in range(20)]  # fmt: skip
    assert documents(largest, TRAIN) == sorted(documents(whole, TRAIN) + added)
    assert "pool as extra text" in (out / "study.html").read_text()


def documents(corpus, split):
    return sorted(
        (shard.user_keys()[int(part.users[row])], text)
        for shard in corpus.shards
        for part in shard.documents(split, texts=True)
        for row, text in enumerate(part.texts)
    )


def test_a_deletion_brings_out_what_the_user_repeated(corpus, tmp_path):
    out = tmp_path / "study"
    record = study(corpus, out, scenario=("delete",), epochs=10)
    (found,) = record.found
    assert record.rows == [] and found.insertions is None
    assert found.one_user_found > 0 and found.one_user_longest == 3 and found.users_found == 1
    assert found.top_one_user > 0
    assert kinds(steps(out)) == ["corpus", "diff", "train", "train"]
    ((_, left),) = of_kind(out, "corpus")
    gone = {user for user, _ in documents(Corpus.open(corpus), TRAIN)} - {
        user for user, _ in documents(Corpus.open(left), TRAIN)
    }
    assert len(gone) == 1
    old, new = (
        path
        for _, path in sorted(of_kind(out, "train"), key=lambda one: one[0]["settings"]["seed"])
    )
    report = leakscope.diff(old, new, tmp_path / "d", deleted=True, reveal=True, length=3,
                            old_corpus=corpus, new_corpus=left, threads=1)  # fmt: skip
    assert report.metrics.one_user_found == found.one_user_found
    best = [row for row in table(tmp_path / "d" / "found.parquet") if row["place"] <= 10]
    assert SECRETS[gone.pop()] in [row["words"] for row in best]
    assert "deleted user alone" in (out / "study.html").read_text()


def test_a_public_model_is_specialized(corpus, tmp_path):
    public = tmp_path / "public"
    leakscope.train(corpus, public, seed=5, **SHAPE)
    options = {"scenario": ("specialize",), "insertions": (20,), "public_model": public}
    record = study(corpus, tmp_path / "study", update_epochs=3, top_k=(4,), **options)
    assert {row.top_k for row in record.rows} == {None, 4}
    assert all(row.score is not None for row in record.rows)
    ((_, model),) = of_kind(tmp_path / "study", "train")
    assert load_config(model).training["epochs"] == 3
    with pytest.raises(leakscope.LeakscopeError, match="another architecture"):
        study(corpus, tmp_path / "other", **options, hidden=16)
    with pytest.raises(leakscope.LeakscopeError, match="nowhere is not a model"):
        study(corpus, tmp_path / "other", **(options | {"public_model": tmp_path / "nowhere"}))


def test_mitigations_are_set_side_by_side(corpus, tmp_path):
    path = tmp_path / "trainings.toml"
    path.write_text('[plain]\n[short]\nepochs = 1\n[dp]\nmitigation = "dp"\n'
                    'noise_multiplier = 1.0\nsampling_rate = 0.5\n')  # fmt: skip
    record = study(corpus, tmp_path / "study", insertions=(20,), trainings=path)
    by_name = {
        name: [
            row.score for row in record.rows if (row.training, row.scenario) == (name, "retrain")
        ]
        for name in ("plain", "short", "dp")
    }
    assert np.mean(by_name["plain"]) > max(np.mean(by_name["short"]), np.mean(by_name["dp"])) + 0.2
    assert [each.mitigation for each in record.trainings] == ["none", "none", "dp"]
    page = (tmp_path / "study" / "study.html").read_text()
    assert "mean scores by training" in page and "score by training" in page


def test_private_updates_start_from_models_that_never_saw_their_text(corpus, tmp_path):
    path = tmp_path / "trainings.toml"
    path.write_text('[dp]\nmitigation = "dp"\nnoise_multiplier = 1.0\nsampling_rate = 0.5\n')
    scenarios = ("retrain", "continue", "two-stage", "delete")
    options = {"insertions": (3,), "pool": 0.25, "extra": (1.0,), "epochs": 1}
    record = study(corpus, tmp_path / "s", scenario=scenarios, trainings=path, **options)
    assert {row.scenario for row in record.found} == set(scenarios)
    for made_from, model in of_kind(tmp_path / "s", "train"):
        config = load_config(model)
        anew = made_from["from"] is None and made_from["vocabulary"] is not None
        if anew:  # its vocabulary is that of a model which has seen most of its text
            origin = config.vocabulary_from
            assert {origin.corpus_digest, *origin.corpus_inputs} & set(config.corpus_inputs)


def test_several_canaries_and_seeds_are_taken_together(corpus, tmp_path):
    record = study(
        corpus, tmp_path / "study", scenario=("continue",), insertions=(20,), per_class=2,
        seed=(0, 1), epochs=2,
    )  # fmt: skip
    rows = planted_rows(tmp_path / "study")
    assert len(rows) == 2 * 2 * 4 and len({row["canary"] for row in rows}) == 8
    for row in record.rows:
        mine = [each["score"] for each in rows if each["frequency"] == row.frequency]
        assert row.canaries == 4 and row.score == pytest.approx(np.mean(mine))
        assert (row.low, row.high) == (min(mine), max(mine))
    assert record.found[0].seeds == 2 and record.warnings == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"scenario": ("forget",)}, "--scenario is"),
        ({"insertions": (0,)}, "must be at least 1"),
        ({"insertions": (5, 5)}, "Give each --insertions once"),
        ({"insertions": ()}, "needs at least one value"),
        ({"insertions": "5,many"}, "--insertions is"),
        ({"extra": (0.5,)}, "give --pool"),
        ({"extra": (1.5,), "pool": 0.5}, "from 0 to 1"),
        ({"pool": 1.0}, "below 1"),
        ({"pool": 0.01}, "too few for --pool"),
        ({"scenario": ("two-stage",)}, "give --extra and --pool"),
        ({"scenario": ("specialize",)}, "go together"),
        ({"scenario": ("delete",), "deleted_users": USERS}, "too few for --deleted-users"),
        ({"known": (-1,)}, "--known must be at least 0"),
        ({"known": (3,)}, "give a smaller --known"),
        ({"controls": -1}, "--controls must be at least 0"),
        ({"per_class": 99}, "fewer than the 99 of --users"),
        ({"seed": (2**31 - 1,)}, "--seed must be"),
        ({"mitigation": ("dp",), "trainings": "x.toml"}, "not both"),
        ({"update_epochs": 0}, "--update-epochs"),
    ],
)
def test_wrong_settings_are_refused(corpus, tmp_path, wrong, said):
    with pytest.raises(leakscope.LeakscopeError, match=said):
        study(corpus, tmp_path / "study", epochs=1, **({"insertions": (2,)} | wrong))


def test_a_study_of_another_kind_is_refused(done, corpus):
    with pytest.raises(leakscope.LeakscopeError, match="cannot be read as a study"):
        leakscope.study.mitigations(corpus, done[1], target=(15.0,), **SHAPE)


def test_a_corpus_without_validation_documents_is_fine(tmp_path):
    rows = [Row(f"u{i % 4}", " ".join(WORDS[i % 40 : i % 40 + 5])) for i in range(80)]
    build_rows(rows, tmp_path / "corpus", settings=BuildSettings(validation=0.0))
    record = study(tmp_path / "corpus", tmp_path / "study", insertions=(2,), epochs=1)
    assert all(each.new_perplexity is None for each in record.found)


def command_line(*words):
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "leakscope", "study", "updates", *map(str, words)]
    return subprocess.run(words, env=env, capture_output=True, text=True, check=False)


def test_the_command_line_prints_and_takes_up_what_is_there(done, corpus):
    record, out = done
    before = steps(out)
    given = SHAPE | QUICK | {"insertions": "2,20", "known": "0,1"}
    options = [word for name, value in given.items()
               for word in ("--" + name.replace("_", "-"), value)]  # fmt: skip
    ran = command_line(corpus, "--out", out, *options)
    assert ran.returncode == 0, ran.stderr
    assert "canaries have rank 0" in ran.stdout and "study.html" in ran.stdout
    assert steps(out) == before
    ran = command_line(corpus, "--out", out, "--json", *options)
    told = UpdateStudyRecord.model_validate_json(ran.stdout)
    assert told.model_dump(mode="json") == record.model_dump(mode="json")


def test_the_command_line_refuses_in_one_sentence(corpus, tmp_path):
    ran = command_line(corpus, "--out", tmp_path / "study", "--extra", "0.5")
    assert ran.returncode == 2
    assert ran.stderr.startswith("leakscope: --extra adds text") and ran.stderr.count("\n") == 1
