"""Many flips of remote files, and many kills at random moments, on a real server. They take
minutes.
"""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from leakscope.records.errors import LeakscopeError
from leakscope.storage.fetching import localized
from leakscope.storage.remote_address import address_of
from remote_artifacts import comparable, files_of, put

FLIPS, KILLS = 300, 12


@pytest.mark.slow
def test_no_flip_is_silent(local, uploaded, remote, tmp_path, monkeypatch):
    """Any bit of any file of a corpus, a model with its snapshots, and a run."""
    draw = random.Random(20261118)
    files = {f"{kind}/{name}": content for kind in ("corpus", "model", "run")
             for name, content in files_of(local / kind).items()}  # fmt: skip
    silent = []
    for number in range(FLIPS):
        name = draw.choice(sorted(files))
        changed = bytearray(files[name])
        bit = draw.randrange(8 * len(changed))
        changed[bit // 8] ^= 1 << bit % 8
        put({name: bytes(changed)}, uploaded)
        monkeypatch.setenv("LEAKSCOPE_CACHE", str(tmp_path / f"cache-{number}"))
        try:
            with localized(address_of(f"{remote}/{name.partition('/')[0]}")):
                silent.append(name)
        except LeakscopeError as error:
            if not str(error).startswith(f"{remote}/{name} is truncated or damaged"):
                silent.append(f"{name}: {error}")
        put({name: files[name]}, uploaded)
    assert silent == []


@pytest.mark.slow
def test_kills_at_random_moments(local, uploaded, remote, tmp_path):
    """Build, train and report, killed and given again until they end: the same bytes."""
    draw = random.Random(20261118)
    told = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    shape = "--arch gru --hidden 24 --embedding 16 --batch-size 8 --learning-rate 0.02 --epochs 2"
    commands = {
        "corpus": f"corpus build {remote}/rows.jsonl --validation 0.2",
        "model": f"train {remote}/corpus {shape} --threads 1 --checkpoint-steps 3",
        "run": f"report {remote}/model {remote}/corpus --top-k 2 --reveal --threads 1",
    }
    seconds, killed = dict.fromkeys(commands, 0.0), 0
    for number in range(KILLS + len(commands)):  # the first of each kind is only timed
        kind, out = list(commands)[number % 3], f"made-{number}"
        words = [sys.executable, "-m", "leakscope", *commands[kind].split(), "--quiet"]
        words += ["--out", f"{remote}/{out}"]
        begin = time.monotonic()
        process = subprocess.Popen(words, env=told, stdout=subprocess.DEVNULL)
        try:
            process.wait(draw.uniform(0.3, 1.0) * seconds[kind] or None)
            seconds[kind] = time.monotonic() - begin
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            killed += 1
            whole = files_of(uploaded / out).keys() == files_of(local / kind).keys()
            ran = subprocess.run(words, env=told, capture_output=True, text=True, check=False)
            assert ran.returncode == 0 or (whole and "already exists" in ran.stderr), ran.stderr
        found = comparable(files_of(uploaded / out))
        wanted = comparable(files_of(local / kind))
        if kind == "run":  # it tells its own name and options
            assert found["manifest.json"].keys() == wanted["manifest.json"].keys()
            found.pop("manifest.json"), wanted.pop("manifest.json"), found.pop("report.html")
            wanted.pop("report.html")
        if kind == "model":
            found = {name: each for name, each in found.items() if "config.json" not in name}
            wanted = {name: each for name, each in wanted.items() if "config.json" not in name}
        assert found == wanted, kind
    assert killed >= KILLS // 2
