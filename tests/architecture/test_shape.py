"""The house rules that make the source tree readable, held as tests."""

import statistics
import subprocess
import sys
from collections import Counter, defaultdict

from source_tree import cycles, functions, imports, modules

VAGUE = {"utils", "util", "common", "helpers", "helper", "misc", "base", "manager"}
FACADES = {
    "leakscope", "leakscope.canary", "leakscope.corpus", "leakscope.forecast",
    "leakscope.settings", "leakscope.study", "leakscope.training",
}  # fmt: skip
"""They hand out names of the packages below them; nobody inside imports them."""


def test_no_module_imports_itself_by_a_detour():
    graph = {name: imports(module) for name, module in modules().items()}
    assert cycles(graph) == []


def test_no_package_is_both_above_and_below_another():
    graph: dict[str, set[str]] = defaultdict(set)
    for name, module in modules().items():
        if name in FACADES:
            continue
        targets = {modules()[target].package for target in imports(module)}
        graph[module.package] |= targets - {module.package}
    assert cycles(graph) == []


def test_nobody_inside_imports_a_facade():
    """But for the outermost one, which hands out the others."""
    inside = {name: module for name, module in modules().items() if name != "leakscope"}
    users = {name: imports(module) & FACADES for name, module in inside.items()}
    assert {name: found for name, found in users.items() if found} == {}


def test_functions_are_short_and_take_few_parameters():
    found = [each for each in functions() if not each.compiled]
    assert [each for each in found if each.lines > 60] == []
    assert [each for each in found if each.parameters > 8] == []


def test_files_are_short():
    sizes = {name: module.lines for name, module in modules().items()}
    assert {name: size for name, size in sizes.items() if size > 300} == {}
    ideas = [module.lines for module in modules().values() if not module.is_package]
    assert 60 <= statistics.median(ideas) <= 140


def test_a_file_name_stands_once():
    """A command's name stands in `cli` and, for its function, in `commands`."""
    names = Counter(
        module.path.stem
        for name, module in modules().items()
        if not module.is_package and not name.startswith("leakscope.commands.")
    )
    assert {name for name, times in names.items() if times > 1} == set()
    assert not VAGUE & set(names)


def test_packages_are_concepts_of_a_few_files():
    """Those with a file for each command have more."""
    sizes = Counter(module.package for module in modules().values() if not module.is_package)
    del sizes["leakscope.cli"], sizes["leakscope.commands"]
    assert {name: size for name, size in sizes.items() if size > 16} == {}


def test_every_package_says_what_it_is():
    for module in modules().values():
        if module.is_package:
            assert module.path.read_text(encoding="utf-8").startswith('"""'), module.name


def test_settings_are_imported_without_torch():
    code = (
        "import sys, leakscope.settings as settings\n"
        "for name in dir(settings):\n"
        "    getattr(settings, name)\n"
        "heavy = {'torch', 'transformers', 'pyarrow'} & set(sys.modules)\n"
        "sys.exit(f'settings import {heavy}' if heavy else 0)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
