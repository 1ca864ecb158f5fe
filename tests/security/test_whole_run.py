"""A whole run without a network: no connection is tried, files are private, no text is logged."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import whole_run

SCRIPT = Path(whole_run.__file__)
REDACTED = (
    "run", "hardened", "compared", "exposed", "diff", "redacted", "attacked", "bound",
)  # fmt: skip
"""Directories that hold no words. Those of studies do so beside their `steps`, which have text."""


def alone(*command: object, env=None) -> tuple[subprocess.CompletedProcess[str], dict[str, int]]:
    """A command in a network namespace of its own, without any network; and the kernel's counters
    there, which also see what compiled code does.
    """
    told = 'exec 3>&1; "$@" >&2; code=$?; cat /proc/net/snmp >&3; exit $code'
    ran = subprocess.run(
        ["unshare", "--map-root-user", "--net", "sh", "-c", told, "sh", *map(str, command)],
        check=False, capture_output=True, text=True, timeout=900, env=env,
    )  # fmt: skip
    lines = [line.split() for line in ran.stdout.splitlines()]
    counters = {
        f"{names[0]}{name}": int(value)
        for names, values in zip(lines[::2], lines[1::2], strict=True)
        for name, value in zip(names[1:], values[1:], strict=True)
    }
    return ran, counters


def attempts(counters):
    """Whatever was sent, or could not be for want of a way."""
    names = ("Ip:OutRequests", "Ip:OutNoRoutes", "Tcp:ActiveOpens", "Udp:OutDatagrams")
    return sum(counters[name] for name in names)


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
@pytest.mark.parametrize("address", ["192.0.2.1", "127.0.0.1"])
def test_an_attempt_would_be_seen(kind, address):
    code = f"import socket; socket.socket(type=socket.{kind}).connect(({address!r}, 80))"
    ran, counters = alone(sys.executable, "-c", code)
    assert ran.returncode != 0 and attempts(counters) > 0, ran.stderr


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    env = os.environ | {
        "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "default", "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    (folder / "out").mkdir()
    return folder / "out", *alone(sys.executable, SCRIPT, folder / "out", env=env)


def test_no_connection_is_tried(ran):
    _, process, counters = ran
    assert process.returncode == 0 and process.stderr.endswith("done\n"), process.stderr[-2000:]
    assert attempts(counters) == 0, counters


def test_nothing_that_is_printed_or_logged_holds_text(ran):
    _, process, _ = ran
    assert not [word for word in whole_run.SECRETS if word in process.stderr]


def test_all_that_is_written_is_private(ran):
    out, _, _ = ran
    made = [path for path in out.rglob("*") if path.name != "rows.jsonl"]
    assert len(made) > 50
    loose = [path.relative_to(out) for path in made if stat.S_IMODE(path.lstat().st_mode) & 0o077]
    assert loose == []


def _rows(path):
    return pq.read_table(path).to_pylist()


def test_redacted_runs_hold_no_words(ran):
    out, _, _ = ran
    for name in REDACTED:
        for path in (out / name).rglob("*"):
            if path.is_file():
                plain = path.suffix != ".parquet"
                content = path.read_bytes() if plain else repr(_rows(path)).encode()
                assert not [w for w in whole_run.SECRETS if w.encode() in content], path.name
