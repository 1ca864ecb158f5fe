"""What `import leakscope` offers: exactly the documented names, without heavy imports."""

import inspect
import os
import subprocess
import sys
from dataclasses import is_dataclass
from pathlib import Path

import leakscope
from leakscope import settings
from leakscope.commands.option_tables import COMMANDS, all_parts, named_options

NAMES = [
    "LeakageCallback", "LeakscopeError", "__version__", "canary", "compare", "corpus", "demo",
    "diff", "export", "forecast", "harden", "make_private", "open_run", "person", "probe",
    "render", "report", "settings", "study", "suggest", "train", "verify",
]  # fmt: skip


def test_the_names_are_exactly_these():
    assert dir(leakscope) == sorted(leakscope.__all__) == NAMES
    assert dir(leakscope.corpus) == ["build", "clean", "info", "show", "synth"]
    assert dir(leakscope.canary) == ["attack", "bound", "exposure", "plant"]
    assert dir(leakscope.study) == ["mitigations", "updates"]
    assert dir(leakscope.forecast) == [
        "canary_attack", "canary_exposure", "corpus_build", "corpus_clean", "diff", "report",
        "study_mitigations", "study_updates", "train",
    ]  # fmt: skip
    for name in dir(leakscope.forecast):
        assert getattr(leakscope.forecast, name).__name__ == name
    assert all(getattr(leakscope, name) is not None for name in NAMES)
    for name in dir(leakscope.corpus):
        assert getattr(leakscope.corpus, name).__name__ == name
    assert leakscope.__version__.startswith("0.")
    assert not hasattr(leakscope, "nonsense") and not hasattr(leakscope.corpus, "nonsense")


def test_the_settings_are_those_of_all_commands():
    records = {part.path.partition(":")[2] for part in all_parts()}
    assert set(settings.__all__) == records == set(dir(settings))
    assert all(is_dataclass(getattr(settings, name)) for name in records)


def test_functions_show_their_options():
    for command in COMMANDS:
        if command in ("completion", "corpus info"):
            continue
        home = getattr(leakscope, command.partition(" ")[0]) if " " in command else leakscope
        function = getattr(home, command.split()[-1])
        shown = inspect.signature(function).parameters
        assert set(named_options(command)) <= set(shown), command
        assert all(f"    {name}: " in function.__doc__ for name in named_options(command))


def test_importing_is_light():
    script = (
        "import sys, leakscope, leakscope.corpus, leakscope.settings\n"
        "dir(leakscope); leakscope.LeakscopeError; leakscope.settings.ReportSettings\n"
        "leakscope.settings.PublicSettings; leakscope.settings.Endpoint\n"
        "leakscope.settings.LoadingSettings; leakscope.settings.RunningSettings\n"
        "heavy = {'torch', 'numpy', 'pyarrow', 'transformers', 'pydantic', 'cyclopts'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_walkthrough_runs_as_it_stands(tmp_path):
    script = Path(__file__).parents[1] / "docs" / "walkthrough.py"
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    words = [sys.executable, str(script)]
    ran = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "unique sequences, such as" in ran.stdout and "did you mean top_k?" in ran.stdout
    assert (tmp_path / "run" / "report.html").exists()
