"""Running commands as a user does, in this process."""

from typing import NamedTuple

import pytest

from leakscope.cli.app import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def leakscope(monkeypatch, capsys):
    """`leakscope("corpus", "info", path)` gives the exit code and what was printed."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr("sys.argv", ["leakscope", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return Ran(stopped.value.code or 0, printed.out, printed.err)

    return run


@pytest.fixture
def fails(leakscope):
    """The one sentence of a command that must fail with exit code 2 and no traceback."""

    def run(*arguments: object) -> str:
        ran = leakscope(*arguments)
        last = ran.err.strip().splitlines()[-1]
        assert ran.code == 2, ran
        assert last.startswith("leakscope: ") and last.endswith((".", "?")), ran.err
        assert "Traceback" not in ran.err
        return last

    return run
