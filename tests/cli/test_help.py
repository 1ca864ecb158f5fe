"""Help: what it lists, what it does not import, and what wrong usage is told."""

import subprocess
import sys

import pytest

from leakscope.cli.app import COMMANDS

HEAVY = ("torch", "numpy", "numba", "pyarrow", "jinja2", "safetensors", "transformers", "httpx2")
SCRIPT = (
    "import sys; from leakscope.cli.app import main\n"
    "names = sys.argv.pop().split()\n"
    "try: main()\n"
    "finally: print([name for name in names if name in sys.modules])\n"
)


def imported(*command):
    """Which heavy modules a command imports."""
    words = [sys.executable, "-c", SCRIPT, *command, " ".join(HEAVY)]
    ran = subprocess.run(words, check=True, capture_output=True, text=True)
    assert "Usage: leakscope" in ran.stdout
    return ran.stdout.splitlines()[-1]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_loads_nothing_heavy(command):
    """Help takes a fifth of a second, as long as none of these is imported."""
    assert imported(*command.split(), "--help") == "[]"


def test_the_root_help_reads_no_settings():
    words = [
        sys.executable,
        "-c",
        SCRIPT,
        "--help",
        "pydantic leakscope.records.runs.report_settings",
    ]
    ran = subprocess.run(words, check=True, capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1] == "[]"


BEFORE = {
    "demo": "--out --seed --threads",
    "train": "--arch --batch-size --checkpoint-steps --clip --clipping --context --delta --dropout "
    "--embedding --epochs --heads --hidden --insecure-seed --layers --learning-rate --max-words "
    "--mitigation --noise-multiplier --optimizer --out --preset --sampling-rate --seed "
    "--snapshot-at-epsilon --snapshot-steps --target-epsilon --threads --unit --users-per-step "
    "--vocabulary --vocabulary-from --vocabulary-users --warm-start --words-per-user",
    "report": "--answers --api-key-env --attempts --base --batch-tokens --begin-mark --benchmark "
    "--block-list --chat-template --concurrency --confidence --context-words --contexts --device "
    "--dtype --elsewhere --endpoint-model --extra-body --fail-on --folds --full-perplexity --json "
    "--least-context --max-requests --name --no-benchmark --no-full-perplexity --no-reveal "
    "--no-snapshots --no-text-only --out --prompt-words --public --public-dir "
    "--requests-per-minute --reveal --snapshots --text-only --threads --threshold --timeout "
    "--top-k --user-threshold --validation-words --warm-start --workers",
    "compare": "--allow-mixed --json --no-allow-mixed --out",
    "harden": "--also --block-list-rate --corpus --json --no-block-list --out --threads "
    "--threshold",
    "suggest": "--json --most --out",
    "probe": "--base --block-list --device --dtype --json --length --top-k",
    "corpus build": "--format --json --lowercase --max-characters --no-lowercase --order --out "
    "--seed --shard-words --split-by --text-column --user-column --validation",
    "corpus clean": "--across-users --documents --json --min-users --min-words --no-across-users "
    "--out --presidio --presidio-model --scrub --seed --sentences --shingle --threshold",
    "corpus info": "--json",
    "corpus synth": "--coined --out --seed --users --words",
}
"""The options of version 0.1.0, which all go on."""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_keeps_its_options(command, leakscope, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    ran = leakscope(*command.split(), "--help")
    assert ran.code == 0 and f"Usage: leakscope {command}" in ran.out
    said = set(ran.out.replace("│", " ").split())
    wanted = {*BEFORE.get(command, "").split(), "--config", "--quiet"}
    assert wanted <= said, wanted - said


def test_leakscope_alone_shows_help(leakscope):
    ran = leakscope()
    assert ran.code == 0 and "Start with: leakscope demo" in ran.out
    assert leakscope("corpus").out.count("\n") > 5


@pytest.mark.parametrize("command", [["--version"], ["report", "--version"]])
def test_the_version_is_there(command):
    words = [sys.executable, "-m", "leakscope", *command]
    ran = subprocess.run(words, check=True, capture_output=True, text=True)
    assert ran.stdout.startswith("leakscope 0.")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["repot"], "There is no command repot; did you mean report?"),
        (["corpus", "bild"], "There is no command bild; did you mean build?"),
        (
            ["report", "m", "c", "--top-kk", "3", "--out", "o"],
            "did you mean --top-k?",
        ),
        (
            ["report", "m", "c", "--zzz", "--out", "o"],
            "no option --zzz; see leakscope",
        ),
        (["report"], "leakscope report needs MODEL; see leakscope report --help."),
        (["report", "m", "c"], "leakscope report needs --out; see"),
        (["report", "m", "c", "--out"], "--out needs a value"),
        (["report", "m", "c", "--top-k", "x", "--out", "o"], "--top-k is a whole number, not 'x'."),
        (["corpus", "info", "a", "b"], "takes no further argument such as 'b'"),
        (["train", "c", "--out", "o", "--arch", "rnn"], "--arch is lstm, gru or transformer"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments, says, fails):
    assert says in fails(*arguments)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_options(shell, leakscope):
    script = leakscope("completion", shell)
    assert script.code == 0, script.err
    assert "report" in script.out and "top-k" in script.out
    assert "transformer" in script.out, "choices are completed, too"


def test_help_shows_no_markup_and_swallows_no_brackets(leakscope, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    said = leakscope("report", "--help").out
    assert "'{\"repeat_penalty\": 1}'" in said and "'<s>'" in said and "\x1b" not in said
