"""The commands from text to report, as a user would give them."""

import json
import stat

import pyarrow.parquet as pq
import pytest

from leakscope.records.block_lists.block_list import BlockList
from saved_causal import saved

SIZE = ("--arch", "gru", "--embedding", 16, "--hidden", 24)
TRAIN = ("train", *SIZE, "--epochs", 2, "--batch-size", 16)


@pytest.fixture
def built(leakscope, tmp_path):
    """A small synthetic corpus, a model with two snapshots."""
    assert (
        leakscope("corpus", "synth", "--users", 20, "--words", 8000, "--out", tmp_path / "s").code
        == 0
    )
    ran = leakscope(
        "corpus",
        "build",
        tmp_path / "s" / "data.parquet",
        "--out",
        tmp_path / "c",
        "--shard-words",
        2000,
    )
    assert ran.code == 0, ran.err
    ran = leakscope(*TRAIN, tmp_path / "c", "--learning-rate", 0.02, "--out", tmp_path / "m")
    assert ran.code == 0, ran.err
    assert "validation perplexity" in ran.out
    return tmp_path


def test_from_text_to_comparison(built, leakscope):
    info = leakscope("corpus", "info", built / "c")
    assert "users       20" in info.out and "set aside   nothing" in info.out
    manifest = json.loads(leakscope("corpus", "info", built / "c", "--json").out)
    assert len(manifest["shards"]) > 1

    ran = leakscope("report", built / "m", built / "c", "--out", built / "r", "--top-k", 3)
    assert ran.code == 0, ran.err
    assert f"page: {built / 'r' / 'report.html'}" in ran.out
    metrics = json.loads((built / "r" / "metrics.json").read_text())
    assert metrics["top_k"] == 3 and metrics["leakage_epsilon"] is None
    assert metrics["reasons"]["leakage_epsilon"] == "no public model was given"
    table = pq.read_table(built / "r" / "sequences.parquet")
    assert table["sequence"].null_count == table["contexts"].null_count == len(table) > 0
    assert table["users_in_d"].to_pylist().count(1) == metrics["unique_sequences"]
    assert pq.read_table(built / "r" / "users.parquet")["user_key"].null_count == 20
    for file in (built / "r").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file

    again = leakscope(
        "report",
        built / "m",
        built / "c",
        "--out",
        built / "r2",
        "--top-k",
        3,
        "--workers",
        2,
        "--json",
        "--user-threshold",
        2,
    )
    second = json.loads(again.out)
    changed = {"user_threshold", "below_threshold"}
    assert {k: v for k, v in second.items() if k not in changed} == {
        k: v for k, v in metrics.items() if k not in changed
    }
    listed = pq.read_table(built / "r2" / "sequences.parquet")
    assert set(listed["users_in_s"].to_pylist()) == {1}
    assert len(listed) == second["below_threshold"] < metrics["sequences"]

    ran = leakscope("report", built / "m", built / "c", "--out", built / "all", "--snapshots")
    assert ran.code == 0, ran.err
    assert "epoch-001" in ran.out and "epoch-002" in ran.out
    assert (built / "all" / "compare.html").exists()
    compared = leakscope("compare", built / "all", "--out", built / "cmp", "--json")
    rows = json.loads(compared.out)
    assert [row["name"] for row in rows] == ["epoch-001", "epoch-002"]
    mixed = leakscope("compare", built / "r", built / "all")
    assert mixed.code == 2 and "--allow-mixed" in mixed.err
    assert leakscope("compare", built / "r", built / "all", "--allow-mixed").code == 0


def test_snapshots_of_other_settings_or_models_are_not_passed_off(built, leakscope, fails):
    command = ("report", built / "m", built / "c", "--snapshots", "--out", built / "snap")
    first = json.loads(leakscope(*command, "--json").out)
    again = json.loads(leakscope(*command, "--json").out)
    assert first == again
    assert "already exists" in fails(*command, "--top-k", 3)
    assert "already exists" in fails(*command, "--reveal")
    ran = leakscope(*TRAIN, built / "c", "--seed", 5, "--out", built / "m2")
    assert ran.code == 0, ran.err
    assert "already exists" in fails(
        "report", built / "m2", built / "c", "--snapshots", "--out", built / "snap"
    )


@pytest.mark.parametrize("width", [40, 80, 100, 200])
def test_tables_lose_no_digit_on_narrow_terminals(built, leakscope, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    leakscope("report", built / "m", built / "c", "--snapshots", "--out", built / "snap")
    rows = json.loads(leakscope("compare", built / "snap", "--json").out)
    shown = leakscope("compare", built / "snap").out
    shown = shown[shown.index("─") :]  # behind warnings
    for row in rows:
        line = next(line for line in shown.splitlines() if row["name"] in line)
        cells = line.replace(",", "").split()
        for column in ("unique_sequences", "occurrences", "users_with_unique", "longest_unique"):
            assert "–" in cells if row[column] is None else str(row[column]) in cells


def test_a_killed_revealed_run_leaves_no_words_in_a_redacted_one(built, leakscope):
    """What SIGKILL leaves while sequences.parquet is being written."""
    leakscope("report", built / "m", built / "c", "--out", built / "open", "--reveal")
    out = built / "killed"
    (out / ".work").mkdir(parents=True)
    words = (built / "open" / "sequences.parquet").read_bytes()
    (out / ".leakscope").write_text('{"unfinished":"report","version":1}')
    (out / ".sequences.parquet.123-0123abcd.leakscope").write_bytes(words)
    (out / "sequences.parquet").write_bytes(words)
    (out / "report.html").write_bytes((built / "open" / "report.html").read_bytes())
    assert leakscope("report", built / "m", built / "c", "--out", out).code == 0
    assert sorted(p.name for p in out.iterdir()) == [
        "manifest.json",
        "metrics.json",
        "occurrences.parquet",
        "report.html",
        "seal.txt",
        "sequences.parquet",
        "users.parquet",
        "validation.parquet",
        "validation_documents.parquet",
    ]
    assert pq.read_table(out / "sequences.parquet")["sequence"].null_count > 0


def test_gates(built, leakscope, fails):
    command = ("report", built / "m", built / "c", "--out")
    ran = leakscope(*command, built / "g1", "--fail-on", "occurrences > 0")
    assert ran.code == 1 and "gate: FAIL occurrences > 0: it is" in ran.err
    ran = leakscope(*command, built / "g2", "--fail-on", "occurrences<0")
    assert ran.code == 0 and "gate: PASS occurrences<0: it is" in ran.err
    assert "no public model was given" in fails(
        *command, built / "g3", "--fail-on", "leakage_epsilon>1"
    )
    for gate in ("secrets>0", "elsewhere>0", "unique_sequences", "unique_sequences>1e999"):
        assert "is not a gate" in fails(*command, built / "g4", "--fail-on", gate)
    assert not (built / "g4").exists()


def test_a_gate_on_a_model_that_knows_nothing_is_an_error(built, leakscope, fails):
    """A random network predicts nothing, which is no reason to let it pass."""
    saved(built / "hf", "gpt2", "bytes")
    command = ("report", built / "hf", built / "c", "--trained-on", "train", "--out")
    ran = leakscope(*command, built / "g1", "--json")
    assert ran.code == 0 and "warning: The model predicts its training data no better" in ran.err
    assert "cannot be checked: the model predicts" in fails(
        *command, built / "g2", "--fail-on", "unique_sequences>0"
    )
    assert "no better than chance" in leakscope("compare", built / "g1", "--json").err
    for file in (built / "hf").glob("*token*"):
        file.unlink()
    assert "tokenizer" in fails(*command, built / "g3", "--fail-on", "unique_sequences>0")


def test_a_private_training_is_told_in_reports_comparisons_and_gates(built, leakscope, fails):
    train = ("train", *SIZE, "--epochs", 1, "--mitigation", "dp", "--users-per-step", 5)
    noise = ("--noise-multiplier", 2, "--delta", 0.001)
    for name, more in (("dp", ()), ("seeded", ("--insecure-seed", 1))):
        ran = leakscope(*train, *noise, *more, built / "c", "--out", built / name)
        assert ran.code == 0, ran.err
        ran = leakscope("report", built / name, built / "c", "--out", built / f"r-{name}")
        assert "at delta 0.001, for one user of" in " ".join(ran.out.split()), ran.out
        assert ("Insecure seed" in ran.out) == bool(more)
    leakscope("report", built / "m", built / "c", "--out", built / "r-m")
    runs = [built / f"r-{name}" for name in ("m", "dp", "seeded")]
    compared = leakscope("compare", *runs, "--json")
    assert "warning: seeded: noise and draws came from a seed" in compared.err
    plain, private, seeded = json.loads(compared.out)
    config = json.loads((built / "dp" / "config.json").read_text())
    assert plain["dp_epsilon"] is None and private["privacy"] == config["mitigation"]
    assert private["dp_epsilon"] > 0 and seeded["privacy"]["insecure_seed"]
    assert "private training" in private["reasons"]["train_perplexity"]

    gate = ("--json", "--fail-on")
    command = ("report", built / "dp", built / "c", "--out")
    above = private["dp_epsilon"] + 1
    assert leakscope(*command, built / "g1", *gate, f"dp_epsilon>{above}").code == 0
    assert leakscope(*command, built / "g2", *gate, "dp_epsilon>0").code == 1
    for name, why in (("m", "trained without differential privacy"), ("seeded", "--insecure-seed")):
        command = ("report", built / name, built / "c", "--out", built / f"g-{name}")
        assert why in fails(*command, *gate, "dp_epsilon>100")


def test_probe(built, leakscope, fails, monkeypatch):
    ran = leakscope("probe", built / "m", "Dear Xyzzy", "--top-k", 4)
    assert ran.code == 0, ran.err
    assert len([line for line in ran.out.splitlines() if line.strip()[:2] in ("1.", "4.")]) == 2
    assert "[Xyzzy]" in ran.out and "→" in ran.out
    found = json.loads(leakscope("probe", built / "m", "", "--json", "--length", 3).out)
    assert len(found["continuation"]) <= 3 and found["prefix"] == []
    assert abs(sum(s["probability"] for s in found["suggestions"])) < 1
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("Dear\n\nthe\n"))
    assert leakscope("probe", built / "m").out.count("→") == 3
    assert "at least 1" in fails("probe", built / "m", "x", "--top-k", 0)


def test_probe_behind_a_block_list(built, leakscope, fails):
    asked = ("probe", built / "m", "Dear", "--length", 6)
    plain = json.loads(leakscope(*asked, "--json", "--top-k", 12).out)
    assert plain["hidden"] is plain["avoided"] is None
    shown = [(found["entry"], found["probability"]) for found in plain["suggestions"]]
    first, second, third = [found["entry"] for found in plain["suggestions"] if found["is_word"]][
        :3
    ]
    ngrams = [["Dear", first], ["Dear", second], [third], ["other", "words"]]
    listed = BlockList.build(ngrams, 1e-9, salt=bytes(16), lowercase=False)
    listed.save(built / "list")
    command = (*asked, "--block-list", built / "list")
    found = json.loads(leakscope(*command, "--json").out)
    left = [(suggestion["entry"], suggestion["probability"]) for suggestion in found["suggestions"]]
    assert left == [pair for pair in shown if pair[0] not in (first, second, third)][:5]
    assert found["hidden"] == shown.index(left[-1]) - 4 == 3
    assert found["avoided"] >= shown.index(left[0])
    assert found["continuation"][:1] in ([left[0][0]], []) and third not in found["continuation"]
    printed = leakscope(*command).out
    assert "hidden by the block list: 3 suggestions" in printed
    assert first not in [line.split()[1] for line in printed.splitlines()[:5]]
    (built / "list").write_bytes(b"PAR1")
    assert "not a block list" in fails(*command)
    assert "no block list" in fails(*command[:-1], built / "nowhere")


def test_a_block_list_of_cased_words_does_not_fit_a_lower_cased_model(chat_model, fails, tmp_path):
    BlockList.build([["A"]], 0.1, salt=bytes(16), lowercase=False).save(tmp_path / "list")
    said = fails("probe", chat_model, "hello", "--block-list", tmp_path / "list")
    assert "not lower-cased" in said


@pytest.fixture
def chat_model(leakscope, tmp_path):
    """A model of a lower-cased corpus."""
    rows = [{"user": f"u{i % 3}", "text": f"Hello Number {i % 5}"} for i in range(12)]
    (tmp_path / "chat.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    chat = tmp_path / "chat.jsonl"
    assert leakscope("corpus", "build", chat, "--lowercase", "--out", tmp_path / "lc").code == 0
    small = ("--embedding", 8, "--hidden", 8, "--layers", 1, "--epochs", 1)
    assert leakscope("train", tmp_path / "lc", *small, "--out", tmp_path / "lm").code == 0
    return tmp_path / "lm"


def test_revealed_runs_hold_the_words(built, leakscope):
    leakscope("report", built / "m", built / "c", "--out", built / "open", "--reveal")
    table = pq.read_table(built / "open" / "sequences.parquet")
    assert table["sequence"].null_count == 0
    lengths = [len(words) for words in table["sequence"].to_pylist()]
    assert lengths == table["length"].to_pylist()


def test_a_private_training_says_what_it_promises(leakscope, make_corpus, tmp_path):
    rows = [(f"u{i}", f"the cat number {i} sat on the mat") for i in range(30)]
    corpus = make_corpus(rows)
    ran = leakscope(
        "train", corpus.path, "--out", tmp_path / "m", "--arch", "gru", "--embedding", "4",
        "--hidden", "4", "--mitigation", "dp", "--target-epsilon", "3", "--users-per-step", "10",
        "--epochs", "2", "--vocabulary-users", "3",
    )  # fmt: skip
    assert ran.code == 0, ran
    assert "epsilon 2.99" in ran.out or "epsilon 3.00" in ran.out, ran.out
    assert "for one user of 30" in ran.out and "PLD" in ran.out
    assert "note: The vocabulary" in ran.err and "fewer than 3 users" in ran.err
    report = leakscope("report", tmp_path / "m", corpus.path, "--out", tmp_path / "r")
    assert report.code == 0, report


def test_snapshots_that_a_private_training_never_reaches_are_told(leakscope, make_corpus, tmp_path):
    corpus = make_corpus([(f"u{i}", f"the cat number {i} sat on the mat") for i in range(30)])
    ran = leakscope(
        "train", corpus.path, "--out", tmp_path / "m", "--arch", "gru", "--embedding", "4",
        "--hidden", "4", "--mitigation", "dp", "--noise-multiplier", "2", "--users-per-step", "10",
        "--epochs", "2", "--snapshot-at-epsilon", "0.5,0.51,9", "--delta", "0.023",
    )  # fmt: skip
    assert ran.code == 0, ran
    snapshots = sorted(path.name for path in (tmp_path / "m" / "snapshots").iterdir())
    assert snapshots == ["epsilon-0.5", "epsilon-0.51"]
    why = "No snapshot at epsilon 9: the training ends at epsilon "
    lines = ran.err.splitlines()
    (first,) = (at for at, line in enumerate(lines) if line.startswith(f"plan 0/6: {why}"))
    assert first < next(at for at, line in enumerate(lines) if line.startswith("train "))
    assert any(line.startswith(f"note: {why}") for line in lines[first + 1 :])
