"""Odd files, mistyped names and full disks: one sentence each, and nothing left behind."""

import json
import random
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leakscope.cli.printing import harmless
from resealed import reseal
from saved_causal import saved

SMALL = ("--embedding", 8, "--hidden", 8, "--layers", 1, "--epochs", 1)


@pytest.fixture
def corpus(make_corpus):
    return make_corpus([(f"u{i % 3}", f"hello number {i % 5} and good bye") for i in range(40)])


@pytest.fixture
def trained(corpus, tmp_path, leakscope):
    assert leakscope("train", corpus.path, *SMALL, "--out", tmp_path / "m").code == 0
    return tmp_path / "m"


@pytest.mark.parametrize(
    ("given", "meant"), [("crosfit", "crossfit"), ("Crossfit", "crossfit"), ("retain", "retrain")]
)
def test_a_mistyped_public_model(corpus, tmp_path, fails, given, meant):
    out = tmp_path / "r"
    said = fails("report", tmp_path / "m", corpus.path, "--public", given, "--out", out)
    assert f"did you mean {meant}?" in said


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("user;text\nann;private words\n", "semicolons"),
        ('"user";"text"\n"ann";"private, words"\n', "semicolons"),
        ("user\ttext\nann\tprivate words\n", "tabs"),
        ("who;what\nann;private words\n", "semicolons"),
    ],
)
def test_other_marks_than_commas_are_named(tmp_path, fails, text, named):
    (tmp_path / "in.csv").write_text(text)
    said = fails("corpus", "build", tmp_path / "in.csv", "--out", tmp_path / "c")
    assert f"has {named} between" in said and "private" not in said
    assert not (tmp_path / "c").exists()


def test_a_semicolon_in_a_comma_file_is_nothing(tmp_path, leakscope):
    (tmp_path / "in.csv").write_text("user,text,a;b\nann,one; two,x\n")
    assert leakscope(
        "corpus", "build", tmp_path / "in.csv", "--validation", 0, "--out", tmp_path / "c"
    ).code == 0  # fmt: skip


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_far_dates_are_set_aside(tmp_path, leakscope, unit):
    dates = pa.array([2**62, None, 5], pa.int64()).cast(pa.timestamp(unit))
    table = pa.table({"user": ["a", "b", "c"], "text": dates})
    nested = pa.table({"user": ["d", "e"], "text": pa.array([[2**62], None], pa.list_(dates.type))})
    fine = pa.table({"user": ["f"], "text": ["well said"]})
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    for path, each in zip(paths, (table, nested, fine), strict=True):
        pq.write_table(each, path, version="2.6")
    ran = leakscope("corpus", "build", *paths, "--validation", 0, "--out", tmp_path / "c")
    assert ran.code == 0, ran.err
    assert "2 empty text, 3 malformed record" in ran.out


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize("name", ["config.json", "adapter_config.json", "manifest.json"])
def test_deep_json_is_one_sentence(corpus, tmp_path, fails, name):
    folder = tmp_path / "deep"
    folder.mkdir()
    (folder / name).write_text('{"model_type": "llama", "x": ' + DEEP + "}")
    for command in (["report", folder, corpus.path], ["report", folder, folder]):
        assert "Unexpected" not in fails(*command, "--out", tmp_path / "r")
    assert "Unexpected" not in fails("probe", folder, "x")


@pytest.mark.parametrize("name", ["deep.toml", "deep.json"])
def test_a_deep_settings_file_is_one_sentence(corpus, tmp_path, fails, name):
    (tmp_path / name).write_text(f"x = {DEEP}" if name == "deep.toml" else DEEP)
    asked = ("report", tmp_path / "m", corpus.path, "--out", tmp_path / "r")
    assert "is not a TOML file" in fails(*asked, "--config", tmp_path / name)


def test_options_of_a_run_that_are_no_table(corpus, tmp_path, fails):
    (tmp_path / "manifest.json").write_text('{"corpus_digest": "x", "options": ["top_k"]}')
    asked = ("report", tmp_path / "m", corpus.path, "--out", tmp_path / "r")
    assert "has no options in it" in fails(*asked, "--config", tmp_path / "manifest.json")


@pytest.mark.parametrize("table", ["sequences", "occurrences", "users", "validation"])
def test_tables_of_other_columns_are_one_sentence(trained, corpus, tmp_path, leakscope, table):
    run = tmp_path / "r"
    assert leakscope("report", trained, corpus.path, "--out", run).code == 0
    pq.write_table(pa.table({"x": [1], "id": ["0"]}), run / f"{table}.parquet")
    for name in ("suggest", "harden"):
        more = ("--corpus", corpus.path, "--out", tmp_path / "h") if name == "harden" else ()
        ran = leakscope(name, run, *more)
        assert "Unexpected" not in ran.err and ran.code in (0, 2), ran.err
        subprocess.run(["rm", "-rf", str(tmp_path / "h")], check=True)
    assert "Unexpected" not in leakscope("compare", run).err


def test_deep_json_in_inputs(tmp_path, fails):
    (tmp_path / "in.jsonl").write_text('{"user": "a", "text": ' + DEEP + "}\n")
    said = fails("corpus", "build", tmp_path / "in.jsonl", "--out", tmp_path / "c")
    assert "1 with malformed record" in said
    folder = tmp_path / "dataset"
    folder.mkdir()
    (folder / "state.json").write_text('{"_data_files": ' + DEEP + "}")
    (folder / "dataset_info.json").write_text("{}")
    assert "damaged" in fails("corpus", "build", folder, "--out", tmp_path / "c")


def test_damaged_footers_are_one_sentence(corpus, tmp_path, leakscope):
    """Every byte of a footer may be wrong: of an input, a lexicon, or a shard."""
    source = tmp_path / "in.parquet"
    pq.write_table(pa.table({"user": ["a", "b"] * 9, "text": ["well said"] * 18}), source)
    targets = {
        source: ("corpus", "build", source, "--out", tmp_path / "c"),
        corpus.path / "lexicon.parquet": ("train", corpus.path, *SMALL, "--out", tmp_path / "m"),
        corpus.shards[0].path: ("corpus", "clean", corpus.path, "--out", tmp_path / "n"),
    }
    draw = random.Random(5)
    for path, command in targets.items():
        honest = path.read_bytes()
        size = int.from_bytes(honest[-8:-4], "little")
        for _ in range(12):
            spoilt = bytearray(honest)
            for _ in range(3):
                spoilt[draw.randrange(len(honest) - 8 - size, len(honest))] ^= 1 << draw.randrange(
                    8
                )
            path.write_bytes(spoilt)
            ran = leakscope(*command)
            assert "Unexpected" not in ran.err, ran.err
            assert ran.code in (0, 2)
            if ran.code == 0:  # a bit that decides nothing, such as one of a name of who wrote it
                subprocess.run(["rm", "-r", str(command[-1])], check=True)
        path.write_bytes(honest)


@pytest.mark.parametrize(
    "change",
    [{"layers": 10**9}, {"hidden": 10**9}, {"embedding": 10**9}, {"layers": 10**30}],
    ids=str,
)
def test_absurd_sizes_of_a_word_model(trained, corpus, tmp_path, fails, change):
    config = json.loads((trained / "config.json").read_text())
    config["architecture"] |= change
    (trained / "config.json").write_text(json.dumps(config))
    reseal(trained)
    for command in (["probe", trained, "hello"], ["report", trained, corpus.path]):
        more = ["--out", tmp_path / "r"] if command[0] == "report" else []
        said = fails(*command, *more)
        assert str(trained) in said and "Unexpected" not in said


@pytest.mark.parametrize(
    "change",
    [{"num_hidden_layers": 10**9}, {"num_hidden_layers": "many"}, {"hidden_size": 10**12}],
    ids=str,
)
def test_absurd_sizes_of_a_causal_model(corpus, tmp_path, fails, change):
    saved(tmp_path / "hf")
    config = json.loads((tmp_path / "hf" / "config.json").read_text())
    (tmp_path / "hf" / "config.json").write_text(json.dumps(config | change))
    said = fails("report", tmp_path / "hf", corpus.path, "--out", tmp_path / "r")
    assert str(tmp_path / "hf") in said and "Unexpected" not in said


@pytest.mark.parametrize("limit", [100, 4_000, 20_000])
def test_a_full_disk_in_training_says_so(corpus, tmp_path, limit):
    """No file may grow over `limit` bytes, which the kernel refuses as it refuses a full disk."""
    script = (
        "import resource, signal, sys; from leakscope.cli.app import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "sys.argv[0] = 'leakscope'; main()\n"
    )
    arguments = ["train", str(corpus.path), "--epochs", "1", "--out", str(tmp_path / "full")]
    command = [sys.executable, "-c", script, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    last = ran.stderr.strip().splitlines()[-1]
    assert ran.returncode == 2 and last.startswith("leakscope: "), ran.stderr
    assert "Unexpected" not in last
    assert "make room" in last or "File too large" in last


def test_a_refused_start_leaves_no_directory(corpus, tmp_path, fails):
    source = tmp_path / "in.csv"
    source.write_text("user,text\nann,hello there\n")
    said = fails("corpus", "build", source, "--user-column", "nick", "--out", tmp_path / "c")
    assert "nick" in said
    private = ("--mitigation", "dp", "--target-epsilon", 3, "--users-per-step", 99)
    fails("train", corpus.path, *SMALL, *private, "--out", tmp_path / "m")
    assert not (tmp_path / "c").exists() and not (tmp_path / "m").exists()
    (tmp_path / "mine").mkdir()
    fails("corpus", "build", source, "--user-column", "nick", "--out", tmp_path / "mine")
    assert (tmp_path / "mine").is_dir()


NASTY = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m\U000e0041"


def test_control_characters_do_not_reach_the_terminal(corpus, tmp_path, leakscope):
    manifest = corpus.path / "manifest.json"
    known = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(known | {"set_aside": {NASTY: 3}, "digest": NASTY}))
    reseal(corpus.path)
    for ran in (
        leakscope("corpus", "info", corpus.path),
        leakscope("corpus", "info", corpus.path, "--json"),
        leakscope("corpus", "info", tmp_path / NASTY.replace("/", "")),
        leakscope("train", corpus.path, "--arch", NASTY, "--out", tmp_path / "m"),
        leakscope(NASTY),
    ):
        assert ran.out + ran.err
        assert not set(NASTY) & {c for c in ran.out + ran.err if not c.isprintable()}
    told = json.loads(leakscope("corpus", "info", corpus.path, "--json").out)
    assert told["digest"] == NASTY and told["set_aside"] == {NASTY: 3}


def test_ordinary_text_is_printed_as_it_is():
    for text in ("a\tb\nc", "Zürich 東京 🙂", "می‌خواهم"):
        assert harmless(text) == text
