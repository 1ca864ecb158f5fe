"""What `--out` does to a directory that somebody else uses, or owns."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import leakscope as api
from leakscope.records.output_claim import MARKER

HOLDER = """
import sys; from contextlib import ExitStack; from pathlib import Path
from leakscope.records.output_claim import locked
with ExitStack() as held:
    for out in sys.argv[1:]:
        held.enter_context(locked(Path(out)))
    print("held", flush=True)
    sys.stdin.read()
"""
SIZE = {"threads": 1, "arch": "gru", "embedding": 16, "hidden": 24, "epochs": 2, "batch_size": 16}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A small synthetic corpus, a model with two snapshots, and a run."""
    root = tmp_path_factory.mktemp("made")
    api.corpus.synth(root / "s", users=20, words=3000)
    api.corpus.build(root / "s" / "data.parquet", root / "c", shard_words=1000)
    api.train(root / "c", root / "m", learning_rate=0.02, **SIZE)
    api.report(root / "m", root / "c", root / "r")
    return root


def commands(made: Path) -> dict[str, tuple[object, ...]]:
    """A command of every kind that takes a directory as --out."""
    m, c, r = made / "m", made / "c", made / "r"
    return {
        "synth": ("corpus", "synth", "--users", 20, "--words", 3000),
        "build": ("corpus", "build", made / "s" / "data.parquet"),
        "clean": ("corpus", "clean", c, "--documents", "exact"),
        "train": (
            "train",
            c,
            "--threads",
            1,
            "--arch",
            "gru",
            "--embedding",
            16,
            "--hidden",
            24,
            "--epochs",
            1,
        ),
        "report": ("report", m, c),
        "snapshots": ("report", m, c, "--snapshots"),
        "compare": ("compare", r),
        "harden": ("harden", r, "--corpus", c),
        "demo": ("demo",),
    }


def content(out: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(out)): path.read_bytes() if path.is_file() else None
        for path in sorted(out.rglob("*"))
    }


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "leakscope", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def stop_at_work(process: subprocess.Popen[str], out: Path) -> None:
    """Stop a process while it is writing into `out`."""
    while not (out / MARKER).exists() or not (out / MARKER).stat().st_size:
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)
    process.send_signal(signal.SIGSTOP)
    assert (out / MARKER).stat().st_size, "it was too fast for this test"


def test_every_command_leaves_alone_what_another_is_writing(made, tmp_path, fails):
    given = commands(made)
    outs = {name: tmp_path / name for name in given}
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, *outs.values()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    before = content(tmp_path)
    for name, arguments in given.items():
        said = fails(*arguments, "--out", outs[name])
        assert f"Another leakscope is writing into {outs[name]}" in said, name
    assert content(tmp_path) == before
    holder.communicate("", timeout=60)
    assert content(tmp_path) == {}


@pytest.mark.parametrize("name", ["synth", "build", "clean", "train", "report", "harden", "demo"])
def test_every_command_leaves_alone_what_is_not_its_own(made, tmp_path, fails, name):
    """Folders with our names, and files with names that could be ours, without our mark."""
    for folder in (".work", ".building", "shards", "checkpoints", "snapshots"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "thesis.txt").write_text("mine")
    for file in ("thesis.txt", "truth.parquet", "history.parquet", ".thesis.txt.9.partial"):
        (tmp_path / file).write_text("mine")
    tmp_path.chmod(0o755)
    before = content(tmp_path)
    assert "already exists" in fails(*commands(made)[name], "--out", tmp_path)
    assert content(tmp_path) == before
    assert tmp_path.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("folder", [".work", ".building"])
def test_a_folder_with_our_name_does_not_make_a_directory_ours(made, tmp_path, fails, folder):
    (tmp_path / folder).mkdir()
    (tmp_path / "metrics.json").write_text("mine")
    (tmp_path / ".draft.partial").write_text("mine")
    before = content(tmp_path)
    for name in ("report", "build"):
        assert "already exists" in fails(*commands(made)[name], "--out", tmp_path)
    assert content(tmp_path) == before


def test_of_two_reports_the_first_finishes_with_its_own_settings(made, tmp_path, fails):
    out = tmp_path / "r"
    first = start("report", made / "m", made / "c", "--top-k", 3, "--out", out)
    stop_at_work(first, out)
    before = content(out)
    said = fails("report", made / "m", made / "c", "--top-k", 1, "--reveal", "--out", out)
    assert "Another leakscope is writing" in said
    assert content(out) == before
    first.send_signal(signal.SIGCONT)
    printed = first.communicate(timeout=120)
    assert first.returncode == 0, printed
    assert json.loads((out / "metrics.json").read_text())["top_k"] == 3
    assert not (out / MARKER).exists() and not (out / ".work").exists()


@pytest.mark.parametrize("name", ["build", "clean", "report", "harden"])
def test_a_killed_command_starts_again_and_ends_as_if_nothing_had_been(
    made, tmp_path, leakscope, name
):
    arguments, out = commands(made)[name], tmp_path / "killed"
    first = start(*arguments, "--out", out)
    stop_at_work(first, out)
    first.kill()
    first.communicate()
    assert leakscope(*arguments, "--out", out).code == 0
    assert leakscope(*arguments, "--out", tmp_path / "whole").code == 0
    assert sorted(content(out)) == sorted(content(tmp_path / "whole"))
    assert MARKER not in content(out)


def test_a_killed_report_with_a_file_of_the_users_is_refused(made, tmp_path, fails, leakscope):
    out = tmp_path / "r"
    first = start("report", made / "m", made / "c", "--out", out)
    stop_at_work(first, out)
    first.kill()
    first.communicate()
    (out / "notes.txt").write_text("mine")
    (out / "public").mkdir()  # where a public model may have been trained
    assert "already exists" in fails("report", made / "m", made / "c", "--out", out)
    assert (out / "notes.txt").read_text() == "mine"
    (out / "notes.txt").unlink()
    assert leakscope("report", made / "m", made / "c", "--out", out).code == 0
    assert (out / "public").is_dir()


def test_a_training_that_an_earlier_version_left_is_resumed(made, tmp_path, leakscope):
    """It has no mark, but a checkpoint that reads as ours. What is not ours stays."""
    out = tmp_path / "m"
    arguments = ("train", made / "c", "--arch", "gru", "--embedding", 16, "--hidden", 24)
    arguments += ("--threads", 1, "--epochs", 2, "--batch-size", 16)
    first = start(*arguments, "--out", out)
    while not (out / "checkpoint.json").exists():
        assert first.poll() is None
        time.sleep(0.005)
    first.kill()
    first.communicate()
    (out / MARKER).unlink()
    (out / "checkpoints" / "thesis").mkdir()
    (out / "thesis.txt").write_text("mine")
    assert leakscope(*arguments, "--out", out).code == 0
    assert (out / "config.json").exists() and not (out / "checkpoint.json").exists()
    assert (out / "thesis.txt").read_text() == "mine"
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["thesis"]


def test_a_file_that_is_there_already_stays(made, tmp_path, fails, leakscope):
    ours, theirs, link = tmp_path / "actions.json", tmp_path / "thesis.txt", tmp_path / "link"
    theirs.write_text("mine")
    link.symlink_to("nowhere")
    for path in (theirs, link):
        assert "already exists" in fails("suggest", made / "r", "--out", path)
    assert "name a file" in fails("suggest", made / "r", "--out", tmp_path)
    assert "in a folder that is there" in fails(
        "suggest", made / "r", "--out", tmp_path / "x" / "y"
    )
    assert leakscope("suggest", made / "r", "--out", ours).code == 0
    assert json.loads(ours.read_text().splitlines()[0])["leakscope_actions"] == 1
    assert ours.stat().st_mode & 0o777 == 0o600
    assert "already exists" in fails("suggest", made / "r", "--out", ours)
    assert theirs.read_text() == "mine" and not (tmp_path / "nowhere").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "actions.json",
        "link",
        "thesis.txt",
    ]


@pytest.mark.parametrize(
    ("name", "mine"), [("compare.json", '{"runs": []}'), ("compare.html", "<p>mine</p>")]
)
def test_a_comparison_replaces_only_comparisons(made, tmp_path, fails, leakscope, name, mine):
    (tmp_path / "thesis.txt").write_text("mine")
    assert leakscope("compare", made / "r", "--out", tmp_path).code == 0
    assert leakscope("compare", made / "r", "--out", tmp_path).code == 0
    (tmp_path / name).write_text(mine)
    before = content(tmp_path)
    assert "already exists" in fails("compare", made / "r", "--out", tmp_path)
    snapshots = ("report", made / "m", made / "c", "--snapshots", "--out", tmp_path)
    assert "already exists" in fails(*snapshots)  # before hours of scoring
    assert content(tmp_path) == before


def test_an_interrupted_hardening_leaves_nothing_as_it_says(made, tmp_path, leakscope, monkeypatch):
    def interrupted(*_given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("leakscope.commands.harden.write_hardening", interrupted)
        ran = leakscope("harden", made / "r", "--corpus", made / "c", "--out", tmp_path / "h")
    assert ran.code == 130 and "nothing is left behind" in ran.err
    assert not (tmp_path / "h").exists()
    again = leakscope("harden", made / "r", "--corpus", made / "c", "--out", tmp_path / "h")
    assert again.code == 0 and (tmp_path / "h" / "harden.html").exists()
