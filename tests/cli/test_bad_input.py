"""Bad input: one sentence and exit code 2, or set aside and counted."""

import json
import os
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.torch import load_file, save_file

from leakscope.commands.corpus_info import info
from resealed import reseal


def jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def chat(tmp_path):
    rows = [{"user": f"u{i % 3}", "text": f"hello number {i % 5} and good bye"} for i in range(40)]
    return jsonl(tmp_path / "chat.jsonl", rows)


@pytest.fixture
def trained(chat, tmp_path, leakscope):
    assert leakscope("corpus", "build", chat, "--out", tmp_path / "c").code == 0
    small = ("--embedding", 8, "--hidden", 8, "--layers", 1, "--epochs", 1)
    assert leakscope("train", tmp_path / "c", *small, "--out", tmp_path / "m").code == 0
    return tmp_path


def test_missing_column_and_file(chat, tmp_path, fails):
    said = fails("corpus", "build", chat, "--user-column", "nick", "--out", tmp_path / "c")
    assert "nick" in said and "user" in said
    assert "does not exist" in fails(
        "corpus", "build", tmp_path / "no.csv", "--out", tmp_path / "c"
    )
    assert "not a corpus directory" in fails("corpus", "info", tmp_path / "nowhere")
    assert "no manifest.json" in fails("corpus", "info", tmp_path)


def test_set_aside_is_counted(tmp_path, leakscope):
    source = tmp_path / "bad.jsonl"
    source.write_bytes(
        b'{"user": "a", "text": "fine here"}\n'
        b'{"user": null, "text": "nobody"}\n'
        b'{"user": "a", "text": ""}\n'
        b'{"user": "a", "text": "caf\xe9"}\n'
        b'{"user": "a", "text": "' + b"x " * 600_000 + b'"}\n'
        b"not json\n"
    )
    ran = leakscope("corpus", "build", source, "--out", tmp_path / "c", "--validation", 0)
    assert ran.code == 0
    expected = "1 empty text, 1 invalid UTF-8, 1 malformed record, 1 null user, 1 too long"
    assert f"set aside   {expected}" in ran.out
    assert "café" not in ran.out + ran.err and "nobody" not in ran.out + ran.err


def test_doubts_and_warnings_are_told(tmp_path, leakscope):
    box = tmp_path / "list.mbox"
    letter = (
        b"From x Thu Jan  1 00:00:00 2020\nFrom: @nn @end|ng |rom x@org (Ann Doe)\n\ncaf\xe9\n\n"
    )
    box.write_bytes(letter * 2)
    ran = leakscope("corpus", "build", box, "--out", tmp_path / "c", "--validation", 0)
    assert ran.code == 0
    assert "doubtful    2 charset guessed, 2 user told by name\n" in ran.out
    assert "warning     All documents have the same user" in ran.out
    told = json.loads(leakscope("corpus", "info", tmp_path / "c", "--json").out)
    assert told["doubtful"] == {"charset guessed": 2, "user told by name": 2}
    assert [warning["code"] for warning in told["warnings"]] == ["single_user"]
    assert "warnings" not in json.loads((tmp_path / "c" / "manifest.json").read_text())
    assert [each.code for each in info(tmp_path / "c").warnings] == ["single_user"]


def test_an_empty_corpus(tmp_path, fails):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    assert "input is empty" in fails("corpus", "build", empty, "--out", tmp_path / "c")


def test_truncated_parquet(tmp_path, fails):
    source = tmp_path / "data.parquet"
    pq.write_table(pa.table({"user": ["a"] * 99, "text": ["hello there"] * 99}), source)
    source.write_bytes(source.read_bytes()[:-30])
    said = fails("corpus", "build", source, "--out", tmp_path / "c")
    assert "data.parquet" in said and "hello" not in said


def test_a_model_of_another_lexicon(trained, tmp_path, leakscope, fails):
    other = jsonl(tmp_path / "other.jsonl", [{"user": "x", "text": "other words only"}] * 9)
    leakscope("corpus", "build", other, "--out", tmp_path / "c2")
    said = fails("report", tmp_path / "m", tmp_path / "c2", "--out", tmp_path / "r")
    assert "another lexicon" in said
    assert not (tmp_path / "r").exists()


def test_a_corpus_with_the_same_words_but_other_documents(
    trained, chat, tmp_path, leakscope, fails
):
    leakscope("corpus", "build", chat, "--out", tmp_path / "c3", "--seed", 5)
    said = fails("report", tmp_path / "m", tmp_path / "c3", "--out", tmp_path / "r")
    assert "another" in said


def test_damaged_weights(trained, tmp_path, fails):
    weights = tmp_path / "m" / "model.safetensors"
    good = weights.read_bytes()
    weights.write_bytes(good[:-100])
    said = fails("report", tmp_path / "m", tmp_path / "c", "--out", tmp_path / "r1")
    assert "truncated or damaged" in said
    assert "truncated or damaged" in fails("probe", tmp_path / "m", "hello")
    weights.write_bytes(good)
    tensors = load_file(weights)
    tensors["embedding.weight"][0, 0] = float("nan")
    save_file(tensors, weights)
    reseal(tmp_path / "m")
    said = fails("report", tmp_path / "m", tmp_path / "c", "--out", tmp_path / "r2")
    assert "not finite" in said


def test_directories_of_the_wrong_kind(trained, tmp_path, fails):
    c, m = tmp_path / "c", tmp_path / "m"
    assert "not a model" in fails("report", c, c, "--out", tmp_path / "r")
    assert "not a corpus" in fails("report", m, m, "--out", tmp_path / "r")
    assert "not a model" in fails("probe", c, "x")
    assert "is no run" in fails("compare", m)
    assert "already exists" in fails("train", c, "--out", c)


def test_wrong_options(trained, tmp_path, fails, leakscope):
    c = tmp_path / "c"
    assert "--preset is" in fails("train", c, "--preset", "huge", "--out", tmp_path / "x")
    assert "--arch" in fails("train", c, "--arch", "rnn", "--out", tmp_path / "x")
    assert "is no gru" in fails(
        "train", c, "--preset", "lstm-2x128", "--arch", "gru", "--out", tmp_path / "x"
    )
    assert "top-k" in fails("report", tmp_path / "m", c, "--top-k", 0, "--out", tmp_path / "x")
    for size in (0, -1, "many", ""):
        told = fails("report", tmp_path / "m", c, "--batch-tokens", size, "--out", tmp_path / "x")
        assert "--batch-tokens is auto" in told
    for size in ("auto", 64):
        given = ("--batch-tokens", size, "--out", tmp_path / f"r-{size}")
        assert leakscope("report", tmp_path / "m", c, *given).code == 0
    assert leakscope("report").code == 2


def test_an_out_below_a_file(chat, tmp_path, fails):
    (tmp_path / "file").write_text("")
    assert "Not a directory" in fails("corpus", "build", chat, "--out", tmp_path / "file" / "c")


def test_a_full_disk_is_one_sentence_and_keeps_what_was_there(trained, tmp_path):
    """No file may grow over 20 kB, which the kernel refuses as it refuses a full disk."""
    script = (
        "import resource, signal, sys; from leakscope.cli.app import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "sys.argv[0] = 'leakscope'; main()\n"
    )
    out = tmp_path / "full"
    command = [sys.executable, "-c", script, "train", str(tmp_path / "c"), "--out", str(out)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 2, ran.stderr
    assert ran.stderr.strip().splitlines()[-1].startswith("leakscope: ")
    assert "Traceback" not in ran.stderr
    assert not (out / "config.json").exists()


def test_names_of_columns_are_shown_only_if_they_are_names(tmp_path, fails):
    bare = tmp_path / "bare.csv"
    bare.write_text("alice,hello\nbob,secret\n")
    said = fails("corpus", "build", bare, "--out", tmp_path / "c")
    assert "alice" not in said and "hello" not in said and "2 not shown" in said
    assert not (tmp_path / "c").exists() or not list((tmp_path / "c").rglob("*.arrows"))


def test_a_failed_build_leaves_no_text_and_deletes_nothing_of_the_users(chat, tmp_path, fails):
    broken = tmp_path / "broken.csv"
    broken.write_text('user,text\nann,hello there\nbob,"never closed\n')
    out = tmp_path / "c"
    assert "never closed" in fails("corpus", "build", broken, "--out", out)
    assert not out.exists()
    (out / ".building").mkdir(parents=True)
    (out / "keep.txt").write_text("mine")
    assert "already exists" in fails("corpus", "build", chat, "--out", out)
    assert (out / "keep.txt").read_text() == "mine"


def test_everything_held_out_is_said(tmp_path, fails):
    one = jsonl(tmp_path / "one.jsonl", [{"user": "a", "text": "just this"}])
    said = fails("corpus", "build", one, "--validation", 0.99, "--out", tmp_path / "c")
    assert "held out for validation" in said


@pytest.mark.parametrize(
    "options",
    [
        ("--seed", -1),
        ("--seed", 2**63 - 1),
        ("--learning-rate", "nan"),
        ("--clip", "inf"),
        ("--threads", 0),
        ("--epochs", 0),
    ],
)
def test_numbers_that_make_no_sense(trained, tmp_path, fails, options):
    assert "must be" in fails("train", tmp_path / "c", *options, "--out", tmp_path / "x")


def test_a_rate_that_explodes_is_not_a_traceback(trained, tmp_path, leakscope):
    ran = leakscope(
        "train",
        tmp_path / "c",
        "--learning-rate",
        1000,
        "--epochs",
        3,
        "--out",
        tmp_path / "x",
        "--embedding",
        8,
        "--hidden",
        8,
    )
    assert ran.code in (0, 2) and "Traceback" not in ran.err


def test_damaged_weights_are_named_by_workers_too(trained, tmp_path, leakscope, fails):
    leakscope(
        "corpus", "build", tmp_path / "chat.jsonl", "--out", tmp_path / "c8", "--shard-words", 20
    )
    leakscope(
        "train",
        tmp_path / "c8",
        "--embedding",
        8,
        "--hidden",
        8,
        "--layers",
        1,
        "--epochs",
        1,
        "--out",
        tmp_path / "m8",
    )
    weights = tmp_path / "m8" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    said = fails(
        "report", tmp_path / "m8", tmp_path / "c8", "--workers", 2, "--out", tmp_path / "r8"
    )
    assert "truncated or damaged" in said


def test_ctrl_c_is_no_traceback_and_training_resumes(trained, tmp_path, leakscope):
    options = (
        "--embedding",
        "8",
        "--hidden",
        "8",
        "--layers",
        "1",
        "--epochs",
        "100000",  # never done before the signal, however slow the machine
        "--checkpoint-steps",
        "2",
        "--seed",
        "3",
    )
    command = [
        sys.executable,
        "-m",
        "leakscope",
        "train",
        str(tmp_path / "c"),
        *options,
        "--out",
        str(tmp_path / "long"),
    ]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        # A shell's background job ignores the signal, and so would this child of it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    while not (tmp_path / "long" / "checkpoint.json").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said and "Interrupted" in said
    changed = leakscope("train", tmp_path / "c", *options[:-1], "4", "--out", tmp_path / "long")
    assert changed.code == 2 and "other settings" in changed.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["http://127.0.0.1:9/v1", "--attempts", "1"], "does not answer"),
        (["http://127.0.0.1:9/v1", "--workers", "2"], "--concurrency"),
        (["http://127.0.0.1:9/v1", "--snapshots"], "no snapshots"),
        (["http://127.0.0.1:9/v1", "--public", "retrain"], "is not known here"),
        (["http://127.0.0.1:9/v1", "--text-only", "--top-k", "3"], "top-k is 1"),
        (["http://127.0.0.1:9/v1", "--extra-body", "[1"], "JSON object"),
        (["http://127.0.0.1:9/v1", "--max-requests", "1"], "at least 2"),
        (["http://127.0.0.1:9/v1", "--extra-body", '{"x": NaN}'], "JSON object"),
        (["http://u:hidden@127.0.0.1:9/v1"], "no user, password"),
        (["model", "--text-only"], "not the address of an endpoint"),
    ],
)
def test_endpoints_that_cannot_be_asked(fails, make_corpus, tmp_path, arguments, says):
    corpus = make_corpus([("ann", "the cat sat on the mat"), ("bob", "the dog sat")])
    model, *more = arguments
    said = fails("report", model, corpus.path, "--out", tmp_path / "r", *more)
    assert says in said and "hidden" not in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--mitigation", "magic"], "none, dp, adversarial or triplet"),
        (["--target-epsilon", "3"], "need --mitigation dp"),
        (["--mitigation", "dp"], "either the noise multiplier or the target epsilon"),
        (["--mitigation", "dp", "--target-epsilon", "-1"], "positive"),
        (["--mitigation", "dp", "--target-epsilon", "3", "--unit", "word"], "user or document"),
        (["--mitigation", "dp", "--target-epsilon", "3", "--users-per-step", "9"], "only 2 users"),
        (["--mitigation", "dp", "--target-epsilon", "1e9"], "protects nobody"),
        (
            ["--mitigation", "dp", "--target-epsilon", "3", "--snapshot-at-epsilon", "a,b"],
            "numbers, such as 3,5,7",
        ),
        (
            ["--mitigation", "dp", "--target-epsilon", "3", "--snapshot-at-epsilon", ","],
            "numbers, such as 3,5,7",
        ),
        (["--mitigation", "dp", "--target-epsilon", "3", "--dropout", "0.1"], "--dropout 0"),
        (["--mitigation", "dp", "--target-epsilon", "3", "--clipping", "magic"], "microbatch"),
    ],
)
def test_private_trainings_that_cannot_be(fails, make_corpus, tmp_path, arguments, says):
    corpus = make_corpus([("ann", "the cat sat on the mat"), ("bob", "the dog sat")])
    assert says in fails("train", corpus.path, "--out", tmp_path / "m", *arguments)
    assert not (tmp_path / "m" / "config.json").exists()


@pytest.mark.parametrize("option", ["--warm-start", "--vocabulary-from"])
def test_a_training_from_what_is_no_model(fails, make_corpus, tmp_path, option):
    corpus = make_corpus([("ann", "the cat sat on the mat"), ("bob", "the dog sat")])
    for given in (tmp_path / "nowhere", corpus.path):
        said = fails("train", corpus.path, "--out", tmp_path / "m", option, given)
        assert f"{given} is not a model" in said
    assert not (tmp_path / "m").exists()
