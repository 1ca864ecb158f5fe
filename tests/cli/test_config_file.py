"""`--config`: a TOML file, or the manifest of a run that is to be made again."""

import json

import pytest

ROWS = [(f"u{i % 3}", f"hello number {i % 5} and good bye") for i in range(40)]


@pytest.fixture
def model(make_corpus, tmp_path, leakscope):
    corpus = make_corpus(ROWS)
    small = ("--arch", "gru", "--embedding", 8, "--hidden", 8, "--epochs", 3, "--batch-size", 4)
    small += ("--learning-rate", 0.05)  # a model at chance would not be judged by gates
    assert leakscope("train", corpus.path, *small, "--out", tmp_path / "m", "--quiet").code == 0
    return tmp_path / "m", corpus.path


def write(tmp_path, text):
    path = tmp_path / "leakscope.toml"
    path.write_text(text)
    return path


def settings_of(run):
    return json.loads((run / "manifest.json").read_text())["settings"]


def test_a_file_gives_options_and_the_command_line_wins(model, tmp_path, leakscope):
    path, corpus = model
    file = write(
        tmp_path,
        f"""
        top-k = 2
        context_words = 5
        out = "{tmp_path / "from-file"}"
        [report]
        top_k = 3
        threshold = [2, 7.5]
        reveal = true
        fail-on = ["occurrences<0"]
        [train]
        epochs = 99
        """,
    )
    ran = leakscope("report", path, corpus, "--config", file)
    assert ran.code == 0, ran.err
    told = settings_of(tmp_path / "from-file")
    assert (told["top_k"], told["context_words"], told["thresholds"]) == (3, 5, [2.0, 7.5])
    assert told["reveal"]
    given = ("--top-k", 1, "--no-reveal", "--out", tmp_path / "given", "--threshold", 4)
    assert leakscope("report", path, corpus, *given, "--config", file).code == 0
    told = settings_of(tmp_path / "given")
    assert (told["top_k"], told["reveal"], told["thresholds"]) == (1, False, [4.0])
    assert told["context_words"] == 5


def test_every_command_takes_a_file(make_corpus, tmp_path, leakscope):
    corpus = make_corpus(ROWS)
    synth = write(tmp_path, "[corpus.synth]\nusers = 12\nwords = 2000\nseed = 3")
    ran = leakscope("corpus", "synth", "--config", synth, "--out", tmp_path / "s")
    assert ran.code == 0 and "12 users" in ran.out, ran
    tiny = write(tmp_path, 'corpus = "x"\n[train]\nembedding = 8\nhidden = 8\nepochs = 1')
    ran = leakscope("train", corpus.path, "--config", tiny, "--out", tmp_path / "m")
    assert ran.code == 0, ran.err
    info = write(tmp_path, f'json = true\ncorpus = "{corpus.path}"')
    assert json.loads(leakscope("corpus", "info", "--config", info).out)["users"] == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("topk = 3", "report has no option topk; did you mean top_k?"),
        ("[report]\nconfig = 'x'", "has no option config"),
        ("top-k = 'many'", "--top-k is a whole number."),
        ("top-k = ", "is not a TOML file"),
        ("report = 3", "is not a table of options"),
        ("embedding = 3", "report has no option embedding"),
    ],
)
def test_a_file_that_cannot_be_used(text, says, tmp_path, fails):
    file = write(tmp_path, text)
    assert says in fails("report", "m", "c", "--out", tmp_path / "r", "--config", file)
    missing = tmp_path / "no.toml"
    assert "cannot be read" in fails("report", "m", "c", "--out", "r", "--config", missing)


def test_a_run_is_made_again_from_its_manifest(model, tmp_path, leakscope):
    path, corpus = model
    options = ("--top-k", 2, "--reveal", "--threshold", 3, "--public", "crossfit", "--folds", 2)
    first = leakscope("report", path, corpus, "--out", tmp_path / "r", *options, "--elsewhere", 5)
    assert first.code == 0, first.err
    manifest = tmp_path / "r" / "manifest.json"
    known = json.loads(manifest.read_text())
    assert known["options"] == {
        "model": str(path), "corpus": str(corpus), "top_k": 2, "reveal": True,
        "threshold": [3.0], "public": "crossfit", "folds": 2, "elsewhere": 5,
    }  # fmt: skip
    again = leakscope("report", "--config", manifest, "--out", tmp_path / "again")
    assert again.code == 0, again.err
    for name in ("sequences", "occurrences", "users", "validation"):
        one, other = (tmp_path / run / f"{name}.parquet" for run in ("r", "again"))
        assert one.exists() == other.exists()
        assert not one.exists() or one.read_bytes() == other.read_bytes()
    assert manifest.read_bytes() == (tmp_path / "again" / "manifest.json").read_bytes()

    older = tmp_path / "older.json"
    older.write_text(json.dumps(known | {"options": {}}))
    ran = leakscope("report", path, corpus, "--config", older, "--out", tmp_path / "old")
    assert ran.code == 0, ran.err
    redone = json.loads((tmp_path / "old" / "manifest.json").read_text())
    assert redone["settings"] == known["settings"] and redone["public"] == known["public"]


def test_what_an_older_manifest_does_not_say_is_asked_for(model, tmp_path, leakscope, fails):
    path, corpus = model
    assert leakscope("report", path, corpus, "--out", tmp_path / "r").code == 0
    known = json.loads((tmp_path / "r" / "manifest.json").read_text()) | {"options": {}}
    file = tmp_path / "m.json"
    command = ("report", path, corpus, "--out", tmp_path / "x", "--config", file)
    file.write_text(json.dumps(known | {"public": {"kind": "given"}}))
    assert "give --public" in fails(*command)
    hidden = known | {"settings": known["settings"] | {"block_list": "ab12"}}
    file.write_text(json.dumps(hidden))
    assert "give --block-list" in fails(*command)
    file.write_text("{}")
    assert "only leakscope report takes JSON" in fails(*command)
    assert "only leakscope report" in fails("train", corpus, "--out", "x", "--config", file)


def test_quiet_shows_results_and_no_progress(model, tmp_path, leakscope):
    path, corpus = model
    loud = leakscope("report", path, corpus, "--out", tmp_path / "a")
    quiet = leakscope("report", path, corpus, "--out", tmp_path / "b", "--quiet")
    assert "score" in loud.err and quiet.err == ""
    assert quiet.out.replace(str(tmp_path / "b"), "") == loud.out.replace(str(tmp_path / "a"), "")
