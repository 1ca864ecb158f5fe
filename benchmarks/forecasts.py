"""Forecasts against what happens: each command is forecast, then run, in processes of their own.
Their ratio says how far `--dry-run` is off; a forecast below 1 promises too much. Time is that of
the CPU in both, which other programs hardly change, and of one thread, since threads that wait for
each other spend it, too. Each work takes more than 15 seconds.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import leakscope
from benchmarks.lines import Line

SHAPE = {"arch": "gru", "hidden": 128, "embedding": 96, "vocabulary": 5000, "threads": 1}
WORDS, TRAINED_WORDS, STUDIED_WORDS = 30_000_000, 2_000_000, 200_000
WIDE = {"length": 48, "constant_width": True, "threads": 1}
OFF = 1.5
"""How many times too long or too short a forecast of time may be."""
FORECAST = """
import json, sys, time
time.perf_counter = time.process_time
import leakscope
name, places, options = json.loads(sys.argv[1])
print(getattr(leakscope.forecast, name)(*places, **options).model_dump_json())
"""
RUN = """
import functools, json, resource, sys, threading, time
from contextlib import suppress
from pathlib import Path
time.perf_counter = time.process_time
import leakscope
name, places, options = json.loads(sys.argv[1])
out = Path(options.pop("out"))
way = [name] if name in dir(leakscope) else name.split("_", 1)
function = functools.reduce(getattr, way, leakscope)
most, over = 0, threading.Event()
def watch():
    global most
    while not over.wait(0.5):
        with suppress(FileNotFoundError):
            most = max(most, sum(p.stat().st_size for p in out.rglob("*") if p.is_file()))
thread = threading.Thread(target=watch)
thread.start()
begin = time.perf_counter()
function(*places, out, **options)
seconds = time.perf_counter() - begin
over.set()
thread.join()
most = max(most, sum(p.stat().st_size for p in out.rglob("*") if p.is_file()))
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "memory": memory, "disk": most}))
"""


def lines() -> list[Line]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        _prepare(folder)
        found = []
        for each, places, options in _cases(folder):
            found += _judged(each, places, options)
        return found


def _prepare(folder: Path) -> None:
    for name, words in (("large", WORDS), ("some", TRAINED_WORDS), ("small", STUDIED_WORDS)):
        leakscope.corpus.synth(folder / name, words=words)
    for name in ("some", "small"):
        leakscope.corpus.build(folder / name / "data.parquet", folder / f"{name}-corpus")
    leakscope.canary.plant(folder / "some-corpus", folder / "planted", users=20, vocabulary=1000)
    leakscope.train(folder / "planted" / "corpus", folder / "model", epochs=2, **SHAPE)
    (folder / "two.toml").write_text('[plain]\n[dp]\nmitigation = "dp"\nnoise_multiplier = 0.6\n')


def _cases(folder: Path) -> list[tuple[str, list[Path], dict[str, Any]]]:
    model, planted = folder / "model", folder / "planted"
    corpus = planted / "corpus"
    study = SHAPE | {"epochs": 2, "users": 20, "target": [2.0], "trainings": folder / "two.toml"}
    return [
        ("corpus_build", [folder / "large" / "data.parquet"], {"out": folder / "built"}),
        ("corpus_clean", [corpus], {"scrub": ["all"], "out": folder / "cleaned"}),
        ("train", [corpus], SHAPE | {"epochs": 3, "out": folder / "trained"}),
        ("report", [model, corpus], {"threads": 1, "out": folder / "run"}),
        ("canary_exposure", [model, planted], {"out": folder / "exposure"}),
        ("canary_attack", [model, planted], {"beam": 5, "out": folder / "attack"}),
        (
            "diff",
            [model / "snapshots" / "epoch-001", model],
            WIDE | {"new_corpus": corpus, "out": folder / "diff"},
        ),
        ("study_mitigations", [folder / "small-corpus"], study | {"out": folder / "study"}),
    ]


def _judged(name: str, places: list[Path], options: dict[str, Any]) -> list[Line]:
    said = json.dumps([name, [*map(str, places)], options], default=str)
    told, real = (_printed(code, said) for code in (FORECAST, RUN))
    seconds = sum(stage["seconds"] or 0.0 for stage in told["stages"])
    time = seconds / real["seconds"]
    detail = f"forecast {seconds:.1f} s, took {real['seconds']:.1f} s"
    return [
        Line(f"forecast of {name}: time", time, None, at_most=True, detail=detail),
        Line(f"forecast of {name}: off by", max(time, 1 / time), OFF, at_most=True),
        *(
            Line(f"forecast of {name}: {what}", told[what] / real[what], None, at_most=True)
            for what in ("memory", "disk")
            if told[what] and real[what]
        ),
    ]


def _printed(code: str, said: str) -> dict[str, Any]:
    words = [sys.executable, "-c", code, said]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found
