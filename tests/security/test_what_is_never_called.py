"""What must not stand in the source at all: whatever runs what it reads."""

import ast
from pathlib import Path

import pytest

import leakscope
from leakscope.models.subword.loading import SAFELY

SOURCES = sorted(Path(leakscope.__file__).parent.rglob("*.py"))
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
"""Whatever reads these formats may run code that somebody else wrote."""
CALLS = {"eval", "exec", "torch.load", "pd.read_pickle", "os.system", "os.popen"}
KEYWORDS = {"trust_remote_code", "allow_pickle"}


def problems(tree):
    """What a module imports or calls that it must not, as text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module.split(".")[0] in MODULES:
                yield node.module
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in CALLS:
                yield called
            for keyword in node.keywords:
                said = ast.unparse(keyword.value)
                if keyword.arg in KEYWORDS and said != "False":
                    yield f"{called}({keyword.arg}={said})"


@pytest.mark.parametrize(
    "text",
    [
        "import pickle", "from dill import loads", "eval('1')", "torch.load(path)",
        "load(x, trust_remote_code=True)", "np.load(x, allow_pickle=yes)",
    ],
)  # fmt: skip
def test_they_would_be_found(text):
    assert list(problems(ast.parse(text)))


def test_they_stand_nowhere():
    assert len(SOURCES) > 300
    found = {str(path): list(problems(ast.parse(path.read_text()))) for path in SOURCES}
    assert {path: said for path, said in found.items() if said} == {}


def test_models_of_others_are_opened_without_their_code():
    assert SAFELY["trust_remote_code"] is False and SAFELY["local_files_only"] is True
    opened = [
        call
        for path in SOURCES
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".from_pretrained")
    ]
    assert opened
    for call in opened:
        told = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert told.get(None) == "options" or told["local_files_only"] == "True"
