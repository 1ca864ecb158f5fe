"""The package as a tree of sources: its modules, functions and imports, read without importing."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import leakscope

ROOT = Path(leakscope.__file__).parent


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str
    """Dotted; a package's `__init__` goes by the package's name."""
    path: Path

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def package(self) -> str:
        """The package that it stands in directly."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def lines(self) -> int:
        return len(self.path.read_text(encoding="utf-8").splitlines())


@dataclass(frozen=True)
class Function:
    """A function or method."""

    place: str
    lines: int
    parameters: int
    """`self` and `cls` are not counted."""
    compiled: bool
    """A numba kernel, which takes arrays one by one."""


@cache
def modules() -> dict[str, Module]:
    """All files of the package by their dotted names."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = ("leakscope", *path.relative_to(ROOT).with_suffix("").parts)
        name = ".".join(parts).removesuffix(".__init__")
        found[name] = Module(name, path)
    return found


def functions() -> Iterator[Function]:
    """Every function of the package."""
    for module in modules().values():
        for node in ast.walk(ast.parse(module.path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                yield Function(
                    f"{module.name}:{node.name}",
                    (node.end_lineno or 0) - node.lineno + 1,
                    sum(argument.arg not in ("self", "cls") for argument in given),
                    any("compiled" in ast.unparse(mark) for mark in node.decorator_list),
                )


def imports(module: Module) -> set[str]:
    """The modules of the package that one imports, anywhere in its file."""
    known, found = modules(), set()
    for node in ast.walk(ast.parse(module.path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in known else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in known}
    return found


def cycles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """What stays when everything that imports nothing left is taken away, again and again; empty
    if there are no cycles.
    """
    left = {node: set(targets) for node, targets in graph.items()}
    while free := {node for node, targets in left.items() if not targets & left.keys()}:
        left = {node: targets for node, targets in left.items() if node not in free}
    return [sorted(left)] if left else []
